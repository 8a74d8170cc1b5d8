"""What the gateway itself says to users, in the language of the question."""

from __future__ import annotations

from datetime import datetime

from gateway.language import is_russian
from gateway.model import ContradictingPlace, Contradiction, Newer


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


def unreadable(question: str) -> str:
    return (
        "Модель дважды дала ответ, который нельзя прочитать, поэтому он не показан. Источники ниже; "
        "повторите вопрос или выберите другую модель."
        if is_russian(question)
        else "The model's output could not be read twice, so no answer is shown. "
        "See the sources, ask again or choose another model."
    )


def broke_off(question: str) -> str:
    return (
        "Ответ модели оборвался: показаны только проверенные утверждения, которые она успела дать."
        if is_russian(question)
        else "The model's answer broke off: only the statements that were checked until then are shown."
    )


def conflict(question: str) -> str:
    return (
        "Найденные разделы противоречат друг другу в том, о чём спрошено. Сравните их сами."
        if is_russian(question)
        else "The passages found contradict each other about what was asked. Compare them yourself."
    )


def foreign(question: str) -> str:
    return (
        "Похоже, вопрос не относится к тому, для чего предназначена база знаний."
        if is_russian(question)
        else "The question seems to lie outside what this knowledge base is for."
    )


def left_out(question: str, count: int) -> str:
    return (
        f"Не вошло в запрос к модели из-за нехватки места: {count} (разделы с конца списка)."
        if is_russian(question)
        else f"Left out of the prompt for lack of room: {count} of the passages, from the end of the list."
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


def different_numbers(question: str, contradiction: Contradiction) -> str:
    """Both values with both documents and their dates, the older document first where that is told."""
    first, second = contradiction.first, contradiction.second
    if contradiction.newer is Newer.FIRST:
        first, second = second, first
    russian = is_russian(question)
    one, other = _place(first, russian=russian), _place(second, russian=russian)
    if contradiction.newer is Newer.UNKNOWN:
        if russian:
            return f"Источники называют разные числа: {one} — {first.value}; {other} — {second.value}."
        return f"Sources give different numbers: {one} says {first.value}; {other} says {second.value}."
    if russian:
        return (
            f"Источники называют разные числа: более старый, {one}, — {first.value}; "
            f"более новый, {other}, — {second.value}."
        )
    return (
        f"Sources give different numbers: the older, {one}, says {first.value}; "
        f"the newer, {other}, says {second.value}."
    )


def _place(place: ContradictingPlace, *, russian: bool) -> str:
    """Title, section and date of a place; the version where nothing else dates it."""
    section = f", {place.section_path[-1]}" if place.section_path else ""
    if place.effective_from:
        date = (
            f"с {_day_russian(place.effective_from)}"
            if russian
            else f"in force from {_day_english(place.effective_from)}"
        )
    elif place.year:
        date = str(place.year)
    else:
        date = f"версия {place.version}, без даты" if russian else f"version {place.version}, no date"
    title = f"«{place.title}»" if russian else f'"{place.title}"'
    return f"{title}{section} ({date})"


def incomplete(question: str) -> str:
    return (
        "Найденные разделы отвечают не на весь вопрос."
        if is_russian(question)
        else "The passages found answer only part of the question."
    )


def not_yet_in_force(question: str, title: str, since: datetime | None) -> str:
    if is_russian(question):
        return f"«{title}» ещё не действует{_until_russian(since, 'вступает в силу с')}."
    return f'"{title}" is not in force yet{_until_english(since, "it takes effect on")}.'


def expired(question: str, title: str, until: datetime | None, successor: str) -> str:
    if is_russian(question):
        text = f"«{title}» утратил силу{_until_russian(until, 'срок действия истёк')}."
        return f"{text} Действует документ {successor}." if successor else text
    text = f'"{title}" is no longer in force{_until_english(until, "it expired on")}.'
    return f"{text} The document {successor} takes its place." if successor else text


def superseded(question: str, title: str, since: datetime | None, successor: str) -> str:
    if is_russian(question):
        date = f" с {_day_russian(since)}" if since else ""
        return f"«{title}» заменён документом {successor}{date}."
    date = f" since {_day_english(since)}" if since else ""
    return f'"{title}" is superseded by {successor}{date}.'


def _until_russian(moment: datetime | None, words: str) -> str:
    return f" ({words} {_day_russian(moment)})" if moment else ""


def _until_english(moment: datetime | None, words: str) -> str:
    return f" ({words} {_day_english(moment)})" if moment else ""


def _day_russian(moment: datetime) -> str:
    return f"{moment:%d.%m.%Y}"


def _day_english(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d}"
