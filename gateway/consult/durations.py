"""How long something lasts, as a scenario tells it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gateway.consult.phrases import PhraseBook
from gateway.consult.words import Kind, Word, key_of

_UNITS = {
    key_of(word): days
    for words, days in (
        ("second sec", 1 / 86400),
        ("minute min", 1 / 1440),
        ("hour hr h", 1 / 24),
        ("day d night", 1.0),
        ("week wk w", 7.0),
        ("fortnight", 14.0),
        ("month mth", 30.4),
        ("year yr y", 365.25),
        ("decade", 3652.5),
        ("час часа часов ч", 1 / 24),
        ("день дня дней дн сутки суток", 1.0),
        ("неделя недели недель неделю нед", 7.0),
        ("месяц месяца месяцев мес", 30.4),
        ("год года лет", 365.25),
    )
    for word in words.split()
}
# "3/52": days over 7, weeks over 52, months over 12 (British clinical shorthand); hours over 24.
_OVER = {"7": 1.0, "52": 7.0, "12": 30.4, "24": 1 / 24}
_ABOUT = {
    key_of(word): count
    for word, count in {"a": 1, "an": 1, "one": 1, "около": 1, "couple": 2, "few": 3, "several": 4}.items()
}
# Words after "since" that place the beginning; days, upper bounds.
_SINCE = {
    key_of(word): days
    for words, days in (
        ("today morning tonight afternoon evening lunch breakfast noon", 0.5),
        ("yesterday night midnight", 1.0),
        ("weekend monday tuesday wednesday thursday friday saturday sunday", 7.0),
        ("adolescence teens teenager teenage university college school", 1825.0),
        ("childhood birth", 3650.0),
    )
    for word in words.split()
}
# What tells the day or the time of day of an event: days at least, days at most.
_CALENDAR = PhraseBook(
    [
        (
            "(today|tonight|just now|(this|earlier this|in the) (morning|afternoon|evening)|сегодня)",
            (0.0, 0.9),
        ),
        ("(last night|overnight|вчера|прошлой ночью)", (0.0, 1.9)),
        ("[on|last|this] (monday|tuesday|wednesday|thursday|friday|saturday|sunday)", (0.0, 7.0)),
        ("[on|over|at|last|this] [the|this|last] weekend", (0.0, 7.0)),
        ("(в|во) (понедельник|вторник|среду|четверг|пятницу|субботу|воскресенье)", (0.0, 7.0)),
        (
            "(the day after|one day after|the next day|next day|the following day|the morning after)",
            (0.0, 2.0),
        ),
        ("this week", (0.0, 7.0)),
        ("(last week|на прошлой неделе)", (1.0, 14.0)),
        ("(this month|last month|в прошлом месяце)", (1.0, 61.0)),
        ("(last year|в прошлом году)", (1.0, 731.0)),
    ],
    {},
)
_AGO = frozenset(map(key_of, "ago previously earlier back before назад".split()))
_RATES = frozenset(map(key_of, "every per each".split()))
_SINCE_WORD = key_of("since")
_YESTERDAY = key_of("yesterday")


@dataclass(frozen=True, slots=True)
class Duration:
    """A span of time in days at words [first, last].

    Attributes:
        ago: it says when something was, not how long it lasts.
        least: days at least, where it says so by a day or a time of day: "on Saturday" is 0 to 7 days ago.
            None = exactly `days`.
    """

    days: float
    first: int
    last: int
    sentence: int
    ago: bool
    evidence: str
    least: float | None = None

    @property
    def by_calendar(self) -> bool:
        """It names a day or a time of day."""
        return self.least is not None


def durations_of(text: str, words: Sequence[Word], taken: Sequence[tuple[int, int]]) -> tuple[Duration, ...]:
    """Every span of time that is neither an age nor a gestation.

    Args:
        taken: [start, end) of the text that tells an age or a gestation.
    """
    found = [duration for index in range(len(words)) if (duration := _at(text, words, index)) is not None]
    spans = {(duration.first, duration.last) for duration in found}
    found += [
        duration
        for duration in _by_calendar(text, words)
        if not any(first <= duration.last and duration.first <= last for first, last in spans)
    ]
    return tuple(
        duration
        for duration in found
        if not any(
            other.first <= duration.first and duration.last <= other.last and other is not duration
            for other in found
        )
        and not any(
            start < words[duration.last].end and words[duration.first].start < end for start, end in taken
        )
    )


def _by_calendar(text: str, words: Sequence[Word]) -> list[Duration]:
    return [
        Duration(
            hit.value[1],
            hit.first,
            hit.last,
            words[hit.first].sentence,
            ago=True,
            evidence=text[words[hit.first].start : words[hit.last].end],
            least=hit.value[0],
        )
        for hit in _CALENDAR.find(words)
    ]


def _at(text: str, words: Sequence[Word], index: int) -> Duration | None:
    word = words[index]

    def key(place: int) -> str:
        return words[place].key if 0 <= place < len(words) else ""

    days: float | None = None
    last = index
    if word.kind is Kind.NUMBER and word.value is not None:
        if key(index + 1) == "/" and key(index + 2) in _OVER:
            days, last = word.value * _OVER[key(index + 2)], index + 2
        elif key(index + 1) in _UNITS:
            days, last = word.value * _UNITS[key(index + 1)], index + 1
        elif key(index + 1) == "to" and key(index + 3) in _UNITS and words[index + 2].value is not None:
            days, last = (words[index + 2].value or 0) * _UNITS[key(index + 3)], index + 3
    elif word.key in _ABOUT and (of := index + (2 if key(index + 1) == "of" else 1)) < len(words):
        if key(of) in _UNITS and len(key(of)) > 1 and key(of) != "second":
            days, last = _ABOUT[word.key] * _UNITS[key(of)], of
    elif word.key == _SINCE_WORD:
        for ahead in range(index + 1, min(index + 6, len(words))):
            # "since 2 months, evening fever": the span stands there itself.
            if words[ahead].kind in (Kind.BREAK, Kind.NUMBER) or key(ahead) == ",":
                break
            if key(ahead) in _SINCE:
                days, last = _SINCE[key(ahead)], ahead
                break
    elif word.key == _YESTERDAY and key(index - 1) != _SINCE_WORD:
        days = 1.0
    if days is None or key(index - 1) in _RATES:
        return None
    ago = key(last + 1) in _AGO
    start, end = words[index].start, words[last].end
    return Duration(days, index, last, word.sentence, ago, text[start:end])
