"""Splits a block into sentences, English and Russian.

Written here and not taken from a library: the well-known splitters know one language each, lose offsets or
are no longer kept, and legal texts need their own abbreviations ("ст. 13", "U.S.C. 360").
"""

from __future__ import annotations

import re
from typing import Final

from inference_svc.generators.extractive.places import Span

_END: Final = re.compile(r"[.!?…]+[)\]\"”»'’*_]*(?=\s+[\"“«(\[*_]*[A-ZА-ЯЁ0-9§•–—])")
_ABBREVIATION: Final = re.compile(
    r"(?:\A|[\s(\[«\"“])(?:"
    r"e\.g|i\.e|etc|cf|vs|approx|fig|figs|eq|sec|secs|art|par|pt|vol|ch|ed|al|dr|mr|mrs|ms|prof|st"
    r"|jr|inc|ltd|co|corp|dept"
    r"|u\.s|u\.s\.c|u\.k|reg|fed|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec|max|min|resp"
    r"|т\.\s?е|т\.\s?д|т\.\s?п|т\.\s?к|т\.\s?ч|ст|ч|п|пп|подп|абз|гл|разд|рис|табл|см|ср|др|пр|руб|коп|тыс"
    r"|млн|млрд|им|акад|доц|проф"
    r"|обл|ул|стр|экз|напр|мин|сек|утв|ред|прил|[A-ZА-ЯЁ]|[A-ZА-ЯЁ]\.\s?[A-ZА-ЯЁ]"
    r")\.\Z",
    re.IGNORECASE,
)
_NUMBER_SIGN: Final = re.compile(r"(?:\A|\W)nos?\.\Z", re.IGNORECASE)
_ONE_LETTER: Final = re.compile(r"(?:\A|[\s(«\"“.])[A-Za-zА-Яа-яЁё]\.\Z")
_NUMBERED: Final = re.compile(
    r"(?:table|figure|section|part|article|chapter|item|таблица|рисунок|статья|пункт|глава|раздел"
    r"|приложение|§|№)\s?[\d.]+\Z",
    re.IGNORECASE,
)
_YEAR: Final = re.compile(r"\d\s?гг?\.\Z")


def split_sentences(text: str, start: int, end: int) -> tuple[Span, ...]:
    """Spans of the sentences of text[start:end], without white space around; at least one unless blank."""
    spans: list[Span] = []
    opened = start
    for match in _END.finditer(text, start, end):
        if not _closes(
            text[max(start, match.start() - 16) : match.end()], text[match.end() : match.end() + 8]
        ):
            continue
        spans.append((opened, match.end()))
        opened = match.end()
    spans.append((opened, end))
    return tuple(span for span in (_trim(text, *span) for span in spans) if span[0] < span[1])


def last_sentence(text: str, start: int, end: int) -> Span:
    """The last sentence of text[start:end], with the ones before it until it has three words: a piece of
    one word says nothing by itself and could not be cited."""
    spans = split_sentences(text, start, end)
    first = len(spans) - 1
    while first > 0 and len(re.findall(r"\w+", text[spans[first][0] : spans[-1][1]])) < 3:
        first -= 1
    return spans[first][0], spans[-1][1]


def _closes(before: str, after: str) -> bool:
    before = before.rstrip(")]\"”»'’*_")
    if not before.endswith("."):
        return True
    if _NUMBER_SIGN.search(before):
        # "No. 5", but "No. They go to the patient."
        return not re.match(r"\s+\d", after)
    if _NUMBERED.search(before):
        return False
    if _YEAR.search(before):
        # "в 2018 г. Москва": a date's "г." ends a sentence only before a capital that opens a longer word.
        return bool(re.match(r"\s+[A-ZА-ЯЁ][a-zа-яё]{2}", after))
    return not (_ABBREVIATION.search(before) or _ONE_LETTER.search(before))


def _trim(text: str, start: int, end: int) -> Span:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end
