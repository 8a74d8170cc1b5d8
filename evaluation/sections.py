"""Whether a passage lies in the section that a question set names, as people name sections.

A gold section reads like "III. Scope", "Heart Anatomy > Shape and Size of the Heart", "892.1990",
"175.25(a)-(d)", "Статьи 13, 20, 22" or "Shoulder Joint; Hip Joint". Headings in a document are written
differently, so the comparison is loose:

* `;` separates alternatives; of a path (`>`) only the last level counts;
* an alternative matches a heading when its words stand in the heading in this order without a gap, after
  lower-casing, ё = е, and dropping punctuation and leading enumerators ("IV.", "B.", "2)");
* a section number at the start ("360pp(b) Penalties") is enough by itself;
* what a heading cannot say is dropped when the whole does not match: parentheses ("(b)(1)") and what
  follows a comma ("question 7", "часть 4"); numbers after a comma are further sections ("803.10, 803.12";
  "Статьи 13, 20" = "статья 13" or "статья 20");
* a passage is in a section when any heading of its path matches, so subsections count.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

# 892.1990 and 360hh are one word each, so that 892.19 is not found in 892.1990.
_WORD = re.compile(r"\d+(?:\.\d+)*[^\W\d_]*|[^\W\d_]+")
_PARENTHESES = re.compile(r"\([^()]*\)")
_ENUMERATOR = re.compile(r"(?=[ivxl])(?:xl|l?x{0,3})(?:ix|iv|v?i{0,3})|[a-zа-я]|\d{1,2}(?:\.\d{1,2})*")
# 892.1990, 5.2.4, 360hh name a section by themselves.
_SECTION_NUMBER = re.compile(r"\d+(?:\.\d+)+[^\W\d_]*|\d+[^\W\d_]+")
_NUMBER_SIGN = re.compile(r"(?:№|\bn[o°º]?\b\.?)\s*(?=\d)")
# Plural in a list of sections -> the form that a heading has.
_SINGULAR = {
    "статьи": "статья",
    "пункты": "пункт",
    "части": "часть",
    "главы": "глава",
    "разделы": "раздел",
    "приложения": "приложение",
    "sections": "section",
    "articles": "article",
    "parts": "part",
    "questions": "question",
}


def in_section(section_path: Sequence[str], gold_section: str) -> bool:
    """Whether a heading path (outermost first) lies in `gold_section`; False when that is empty."""
    headings = [_words(heading) for heading in section_path]
    return any(_within(wanted, heading) for wanted in _wanted(gold_section) for heading in headings)


def _wanted(gold_section: str) -> Iterator[tuple[str, ...]]:
    for alternative in gold_section.split(";"):
        leaf = alternative.split(">")[-1]
        for form in (leaf, _PARENTHESES.sub(" ", leaf)):
            words = _without_enumerators(_words(form))
            if words:
                yield words
            for word in _words(form)[:1]:
                if _SECTION_NUMBER.fullmatch(word):
                    yield (word,)
            yield from _comma_parts(form)


def _comma_parts(leaf: str) -> Iterator[tuple[str, ...]]:
    """The first comma part, and the later ones that are numbers of the same kind."""
    first, *later = (_words(part) for part in leaf.split(","))
    first = tuple(_SINGULAR.get(word, word) for word in first)
    if not later or not first:
        return
    yield _without_enumerators(first)
    kind = first[:1] if len(first) == 2 and first[1][0].isdigit() else ()
    for words in later:
        # A bare "2" would match every heading with a 2 in it; "803.12" is a name by itself.
        if len(words) == 1 and words[0][0].isdigit() and (kind or "." in words[0]):
            yield kind + words


def _words(text: str) -> tuple[str, ...]:
    return tuple(_WORD.findall(_NUMBER_SIGN.sub(" ", text.casefold().replace("ё", "е"))))


def _without_enumerators(words: tuple[str, ...]) -> tuple[str, ...]:
    """Leading "IV", "a", "2" dropped, unless nothing else is there."""
    start = 0
    while start < len(words) and _ENUMERATOR.fullmatch(words[start]):
        start += 1
    return words[start:] or words


def _within(wanted: tuple[str, ...], heading: tuple[str, ...]) -> bool:
    width = len(wanted)
    return any(heading[i : i + width] == wanted for i in range(len(heading) - width + 1))
