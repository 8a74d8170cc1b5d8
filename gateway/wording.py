"""What the gateway itself says to users, in the language of the question."""

from __future__ import annotations

from gateway.language import is_russian


def nothing_found(question: str) -> str:
    return (
        "В базе знаний ничего не найдено по этому вопросу. Уточните термины или снимите фильтры."
        if is_russian(question)
        else "The knowledge base holds nothing on this question. Try other terms or remove the filters."
    )


def weak_evidence(question: str) -> str:
    return (
        "Похоже, база знаний не содержит ответа. Назовите процедуру, аппарат, документ или величину точнее."
        if is_russian(question)
        else "The knowledge base does not seem to hold the answer. "
        "Name the procedure, device, document or quantity more precisely."
    )


def nothing_supported(question: str) -> str:
    return (
        "Найденные разделы не содержат ответа на вопрос. Посмотрите их сами или уточните вопрос."
        if is_russian(question)
        else "The passages found do not hold the answer. Read them yourself or ask more specifically."
    )


def nothing_valid(question: str) -> str:
    return (
        "Ни одно утверждение не прошло проверку цитат, поэтому ответ не показан."
        if is_russian(question)
        else "No statement survived the citation check, so no answer is shown."
    )


def degraded(question: str, legs: list[str]) -> str:
    names = ", ".join(legs)
    return (
        f"Часть поиска не ответила ({names}); результаты могут быть неполными."
        if is_russian(question)
        else f"Part of the search did not answer ({names}); results may be incomplete."
    )


def contradiction(question: str) -> str:
    return (
        "Найденные разделы противоречат друг другу."
        if is_russian(question)
        else "Passages contradict each other."
    )


def incomplete(question: str) -> str:
    return (
        "Найденные разделы отвечают не на весь вопрос."
        if is_russian(question)
        else "The passages found answer only part of the question."
    )
