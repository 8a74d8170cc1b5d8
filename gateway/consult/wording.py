"""What a consult says to people, in the language of the scenario."""

from __future__ import annotations

from collections.abc import Sequence

from gateway.consult.selection import Decision
from gateway.language import is_russian

SYNTHETIC = (
    "SYNTHETIC knowledge base, made up for testing software: NOT clinical guidance. / "
    "ТЕСТОВАЯ база знаний: НЕ является клинической рекомендацией."
)

_ENGLISH = {
    Decision.GATE: "Nothing in the appropriateness knowledge base resembles this scenario.",
    Decision.NO_VARIANT: "No variant of the knowledge base is about this scenario.",
    Decision.EXCLUDED: "Variants of this topic exist, and something in the scenario excludes each of them.",
    Decision.OPEN: "The scenario does not say enough to choose a variant with certainty.",
    Decision.TIE: "Two variants fit this scenario equally well.",
    Decision.OTHER_QUESTION: "This does not ask which imaging to choose first, and only that is rated here.",
    Decision.GENERATOR: "The language model found no answer among the candidates, or chose otherwise "
    "than the rules.",
    Decision.VALIDATOR: "Nothing of the language model's answer stands in the knowledge base: none is shown.",
}
_RUSSIAN = {
    Decision.GATE: "В базе знаний нет ничего похожего на этот случай.",
    Decision.NO_VARIANT: "Ни один вариант базы знаний не относится к этому случаю.",
    Decision.EXCLUDED: "Варианты по этой теме есть, но каждый из них исключён указанными данными.",
    Decision.OPEN: "Данных недостаточно, чтобы уверенно выбрать вариант.",
    Decision.TIE: "Два варианта подходят одинаково.",
    Decision.OTHER_QUESTION: "Вопрос не о выборе первого исследования, а оценивается только он.",
    Decision.GENERATOR: "Языковая модель не нашла ответа среди вариантов или выбрала иначе, чем правила.",
    Decision.VALIDATOR: "Ничего из ответа языковой модели нет в базе знаний, поэтому он не показан.",
}


def abstained(scenario: str, decision: Decision, reasons: Sequence[str], questions: Sequence[str]) -> str:
    """Why there is no recommendation, and what would decide it."""
    russian = is_russian(scenario)
    parts = [(_RUSSIAN if russian else _ENGLISH)[decision]]
    if reasons:
        parts.append(("Причины: " if russian else "Reasons: ") + "; ".join(reasons) + ".")
    if questions:
        parts.append(("Уточните: " if russian else "What would decide it: ") + " ".join(questions))
    return " ".join(parts)


def emergency(scenario: str) -> str:
    return (
        "В тексте есть признак неотложного состояния. Отсутствие рекомендации - не повод отказаться от "
        "визуализации: решайте по клинической картине и местному протоколу."
        if is_russian(scenario)
        else "The scenario has a feature of an emergency. That no recommendation is given is no reason to "
        "leave imaging out: act on the clinical picture and the local protocol."
    )


def pregnancy_not_stated(scenario: str) -> str:
    return (
        "Не указано, беременна ли пациентка; рекомендация исходит из того, что нет. Проверьте до облучения."
        if is_russian(scenario)
        else "It is not stated whether the patient is pregnant; the recommendation assumes not. "
        "Check before any radiation."
    )


def another_fits(scenario: str, title: str, *, less_urgent: bool) -> str:
    if is_russian(scenario):
        return f"Подходит и {'менее срочный' if less_urgent else 'другой'} вариант: {title}"
    return f"{'A less urgent' if less_urgent else 'Another'} variant fits too: {title}"
