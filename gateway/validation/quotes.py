"""Finds a quotation in a passage, word for word, and refuses pieces that change a meaning by where they are
cut."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from gateway.validation.normalise import NormalisedText, fold
from gateway.validation.policy import ValidationPolicy

Span = tuple[int, int]

_DASH: Final = "-‐‑‒–—−"
_HYPHEN: Final = "-‐‑'’"
# Signs that belong to the number or word they touch: "≤ 5" is not 5, "$1,000" is not 1,000, "5 %" is not 5.
_LEADING: Final = re.compile(r"(?:[<>≤≥⩽⩾±~≈∼=≠]\s?|[$€£¥₽№§]\s?)+\Z")
_LEADING_MINUS: Final = re.compile(r"(?:\A|[\s(\[|<>≤≥=])([-−–])\Z")
_TRAILING: Final = re.compile(r"\A(?:\s?[%‰]|\s?°\s?[CСF]?(?!\w)|\s?℃|\^[-−]?\d+)")
_RAISED: Final = re.compile(r"\A[⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+")
# A number goes on: decimals, thousands, the other end of a range.
_NUMBER_BEFORE: Final = re.compile(
    rf"(?:\A|[\s(])[.,]\Z|\d(?:[.,]|[ \u00a0\u2009\u202f]?[{_DASH}][ \u00a0\u2009\u202f]?)\Z"
)
_NUMBER_AFTER: Final = re.compile(rf"\A(?:[.,]\d|[ \u00a0\u202f]?[{_DASH}][ \u00a0\u202f]?\d)")
_GROUP_BEFORE: Final = re.compile(r"(?<!\d)\d{1,3}(?:[ \u00a0\u2009\u202f]\d{3})*[ \u00a0\u2009\u202f]\Z")
_GROUP_AFTER: Final = re.compile(r"\A(?:[ \u00a0\u2009\u202f]\d{3})+(?!\d)")
_WORD: Final = re.compile(r"\w+")
_ELLIPSIS: Final = re.compile(r"\A(?:\s|\.{3})+|(?:\s|\.)+\Z")
# A quotation of nothing but these says nothing, whatever its length.
_FUNCTION_WORDS: Final = frozenset(
    "a an the of in on at to by for from with and or as is are was were be been it its this that these "
    "those such any "
    "all may shall must will not no if than then which who there "
    "и в во на с со к о об от до по за из для не ни но а или что как это этот эта эти тот та те его ее их "
    "при же ли бы "
    "быть является которые который".split()
)


def locate(quote: str, passage: NormalisedText, policy: ValidationPolicy) -> list[Span]:
    """Source ranges in the passage where the quotation stands, in order; empty when it does not.

    A range begins and ends at word boundaries, never inside a number, a numeric range or a hyphenated word;
    signs that touch it and belong to it (comparator, minus, currency, per cent, superscript) are taken in.
    Dots at its ends are not asked for, since a generator may mark an omission there; an omission inside is
    none of the passage's words.
    """
    needle = _ELLIPSIS.sub("", fold(quote))
    if needle not in passage.text and len(needle) > 1 and needle[0] == needle[-1] and needle[0] in "\"'":
        # The generator's own quotation marks around the quotation.
        needle = _ELLIPSIS.sub("", needle[1:-1])
    if not needle:
        return []
    spans: dict[Span, None] = {}
    for start, end in _occurrences(needle, passage.text):
        span = _fit(passage.source, *passage.source_span(start, end))
        if span is not None and (_says_enough(needle, policy) or _is_whole(passage.source, span)):
            spans[span] = None
    return list(spans)


def _occurrences(needle: str, text: str) -> Iterator[Span]:
    start = text.find(needle)
    while start >= 0:
        yield start, start + len(needle)
        start = text.find(needle, start + 1)


def _says_enough(needle: str, policy: ValidationPolicy) -> bool:
    words = _WORD.findall(needle)
    return (
        len(words) >= policy.min_quote_words
        and sum(map(len, words)) >= policy.min_quote_characters
        and any(word not in _FUNCTION_WORDS for word in words)
    )


def _is_whole(source: str, span: Span) -> bool:
    """Whole table cell or line, but for Markdown's signs and closing punctuation, and holding a letter or
    digit."""
    before = source[: span[0]].rstrip(" \t*_`")
    after = source[span[1] :].lstrip(" \t*_`.;,")
    opens = (
        not before or before[-1] in "\n|" or re.search(r"(?:\n|\A)\s*(?:[-*+•#>]+|\(?\w{1,3}[.)])\Z", before)
    )
    return (
        bool(opens)
        and (not after or after[0] in "\n\r|")
        and any(map(str.isalnum, source[span[0] : span[1]]))
    )


def _fit(source: str, start: int, end: int) -> Span | None:
    """The range with the signs that belong to it, or None when it cuts a word or a number."""
    before, after = source[max(0, start - 24) : start], source[end : end + 24]
    first, last = source[start], source[end - 1]
    if marks := _RAISED.match(after):
        # A footnote mark or an exponent: shown with the quotation, so that "mW/cm" never stands for "mW/cm²".
        end += marks.end()
        after = source[end : end + 24]
    if first.isalnum() and before and _joins(before, first):
        return None
    if last.isalnum() and after and _joins(after[::-1], last):
        return None
    if first.isdigit() and (_NUMBER_BEFORE.search(before) or _splits_group_before(source, start, before)):
        return None
    if last.isdigit() and (_NUMBER_AFTER.search(after) or _splits_group_after(source, end, after)):
        return None
    if first.isdigit() and (minus := _LEADING_MINUS.search(before)):
        start -= len(before) - minus.start(1)
        before = source[max(0, start - 24) : start]
    if leading := _LEADING.search(before):
        start -= len(before) - leading.start()
    if trailing := _TRAILING.search(after):
        end += trailing.end()
    return start, end


def _joins(before: str, first: str) -> bool:
    """Whether `first` continues the word that `before` ends with ("radi|ation", "non-|ionizing")."""
    if before[-1].isalnum() or before[-1] == "\u00ad":
        return True
    return len(before) > 1 and before[-1] in _HYPHEN and before[-2].isalnum() and first.isalnum()


def _splits_group_before(source: str, start: int, before: str) -> bool:
    group = re.match(r"\d{3}(?!\d)", source[start : start + 4])
    return bool(group and _GROUP_BEFORE.search(before))


def _splits_group_after(source: str, end: int, after: str) -> bool:
    return bool(_GROUP_AFTER.search(after) and re.search(r"(?<!\d)\d{1,3}\Z", source[max(0, end - 4) : end]))
