"""Words that a line end cut in two."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ingest_svc.cleaning.compounds import is_bound, is_compound, is_function_word, is_solid

SOFT_HYPHEN = "\u00ad"
_HYPHENS = "-\u2010" + SOFT_HYPHEN
_LINE_END = re.compile(rf"([^\W\d_]{{2,}})[{_HYPHENS}]$")
_LINE_START = re.compile(r"([^\W\d_]{2,})(-[^\W_])?")
_CHAINED = re.compile(r"[^\W_]-[^\W\d_]+$")
_CONJUNCTIONS = frozenset({"and", "or", "to", "und", "oder", "bzw.", "и", "или"})
_WORD = re.compile(r"[^\W_]+(?:[-\u2010][^\W_]+)*")


def vocabulary(lines: Iterable[str]) -> frozenset[str]:
    """Lower-case words and hyphenated compounds that stand whole inside the lines.

    Of a compound also its first part with the hyphen ("dose-") and its last ("-guided") are in it. The last
    word of a line that ends in a hyphen is left out: it is the half in question.
    """
    words: set[str] = set()
    for line in lines:
        found = [match.group().lower() for match in _WORD.finditer(line)]
        if line.rstrip()[-1:] in _HYPHENS and found:
            found.pop()
        words.update(found)
        for word in found:
            parts = re.split("[-\u2010]", word)
            if len(parts) > 1:
                words.update((f"{parts[0]}-", f"-{parts[-1]}"))
    return frozenset(words)


def join_lines(first: str, second: str, words: frozenset[str]) -> str:
    """`first` and `second` as one line; a hyphen at the seam stays, goes, or is kept without a space.

    The document decides where it can: the joined word or the compound stands elsewhere, or other compounds of
    one half with the other as a word. Else spelling (see `compounds`), then both halves as words -> compound;
    what is left was cut by typesetting -> joined. Beside digits, capitals and single letters a hyphen always
    stays ("20852-1740", "X-ray", "CT-guided"), so numbers and units are never changed.
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
    if end is None or start is None:
        return f"{stem}-{second}"
    left, right = end.group(1), start.group(1)
    if right[0].islower() and not left[-2:].isupper():
        chained = bool(_CHAINED.search(stem) or start.group(2))
        joined = _is_cut(left.lower(), right.lower(), words, soft=first[-1] == SOFT_HYPHEN, chained=chained)
    else:
        # Capitals are cut too, but abbreviations and names are joined: only the document can tell.
        joined = left.isupper() and right.isupper() and f"{left}{right}".lower() in words
    return stem + second if joined else f"{stem}-{second}"


def _is_cut(left: str, right: str, words: frozenset[str], *, soft: bool, chained: bool) -> bool:
    """True when the halves, in lower case, are one word that a line end cut.

    Args:
        soft: the hyphen is a soft one.
        chained: one of the halves is joined to another word by a hyphen, as in "up-" + "to-date".
    """
    if left + right in words:
        return True
    if f"{left}-{right}" in words:
        return False
    if chained and not soft and (is_function_word(left) or is_function_word(right)):
        return False
    if soft or is_solid(left, right):
        return True
    known_left, known_right = left in words, right in words
    if (known_right and f"{left}-" in words) or (known_left and f"-{right}" in words):
        return False
    if is_compound(left, right):
        return False
    if is_bound(left):
        # A doubled vowel takes a hyphen: "re-engineering", "anti-inflammatory".
        return not (known_right and left[-1] == right[0] and left[-1] in "aeiou")
    return not (known_left and known_right)


def drop_soft_hyphens(text: str) -> str:
    """Text without soft hyphens: they mark where a word may break and are no part of it.

    One between two digits was printed as a hyphen by the converter and stays one.
    """
    if SOFT_HYPHEN not in text:
        return text
    text = re.sub(rf"(?<=\d){SOFT_HYPHEN}(?=\d)", "-", text)
    return text.replace(SOFT_HYPHEN, "")
