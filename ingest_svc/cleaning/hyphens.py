"""Words that a line end cut in two."""

from __future__ import annotations

import re
from collections.abc import Iterable

SOFT_HYPHEN = "\u00ad"
_HYPHENS = "-\u2010" + SOFT_HYPHEN
_LINE_END = re.compile(rf"([^\W\d_]{{2,}})[{_HYPHENS}]$")
_LINE_START = re.compile(r"([^\W\d_]{2,})")
_CONJUNCTIONS = frozenset({"and", "or", "to", "und", "oder", "bzw.", "и", "или"})
_WORD = re.compile(r"[^\W_]+(?:[-\u2010][^\W_]+)*")


def vocabulary(lines: Iterable[str]) -> frozenset[str]:
    """Lower-case words and hyphenated compounds that stand whole inside the lines.

    The last word of a line that ends in a hyphen is left out: it is the half in question.
    """
    words: set[str] = set()
    for line in lines:
        found = [match.group().lower() for match in _WORD.finditer(line)]
        if line.rstrip()[-1:] in _HYPHENS and found:
            found.pop()
        words.update(found)
    return frozenset(words)


def join_lines(first: str, second: str, words: frozenset[str]) -> str:
    """`first` and `second` as one line; a hyphen at the seam stays, goes, or is kept without a space.

    The document decides: the joined word stands elsewhere -> joined; the compound stands elsewhere, or
    both halves do -> compound; otherwise a word was cut by typesetting -> joined. Beside digits, capitals and
    single letters a hyphen always stays ("20852-1740", "X-ray"), so numbers and units are never changed.
    """
    first = first.rstrip()
    second = second.lstrip()
    if not first or not second:
        return first + second
    if first[-1] in "–/" and len(first) > 1 and not first[-2].isspace():
        # "2018–" and "https://" broke inside, without a space.
        return first + second
    if first[-1] not in _HYPHENS or (len(first) > 1 and first[-2] in " \t" + _HYPHENS):
        return f"{first} {second}"
    stem = first[:-1]
    if second.split(maxsplit=1)[0].lower() in _CONJUNCTIONS:
        # Suspended compounds ("tube- and generator") keep their space.
        return f"{stem}- {second}"
    end = _LINE_END.search(first)
    start = _LINE_START.match(second)
    if end is None or start is None or not start.group(1)[0].islower():
        return f"{stem}-{second}"
    left, right = end.group(1).lower(), start.group(1).lower()
    if left + right in words:
        return stem + second
    if f"{left}-{right}" in words or (left in words and right in words and first[-1] != SOFT_HYPHEN):
        return f"{stem}-{second}"
    return stem + second


def drop_soft_hyphens(text: str) -> str:
    """Text without soft hyphens: they mark where a word may break and are no part of it.

    One between two digits was printed as a hyphen by the converter and stays one.
    """
    if SOFT_HYPHEN not in text:
        return text
    text = re.sub(rf"(?<=\d){SOFT_HYPHEN}(?=\d)", "-", text)
    return text.replace(SOFT_HYPHEN, "")
