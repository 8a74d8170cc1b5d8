"""Documents typed with a paragraph mark at the end of every line: their lines put together again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from ingest_svc.cleaning.hyphens import join_lines, vocabulary
from ingest_svc.document import Block
from ingest_svc.parsing.docx_headings import DocxParagraph
from ingest_svc.parsing.flow import continues, is_terminated, wrap_width
from ingest_svc.parsing.heading_marks import heading_mark

# Below, the share says nothing.
_MIN_LINES = 30
# Lines typed by hand in Word are as wide as a page; real paragraphs are longer.
_MAX_WIDTH = 100
# Share of lines that end in the middle of a sentence: 0.64 in the one typed act of the development corpus, at
# most 0.15 in its 14 other Word files (measured).
_MIN_BROKEN = 0.25


def unwrapped(elements: Sequence[Block | DocxParagraph]) -> list[Block | DocxParagraph]:
    """The elements, with the lines of hard-wrapped paragraphs joined where the document is typed so."""
    lines = [
        element.text for element in elements if _is_plain(element) and isinstance(element, DocxParagraph)
    ]
    width = wrap_width(lines)
    if len(lines) < _MIN_LINES or not 0 < width <= _MAX_WIDTH:
        return list(elements)
    broken = sum(not is_terminated(line) and following[:1].islower() for line, following in pairwise(lines))
    if broken < _MIN_BROKEN * len(lines):
        return list(elements)
    words = vocabulary(lines)
    joined: list[Block | DocxParagraph] = []
    last = ""
    for element in elements:
        before = joined[-1] if joined else None
        if (
            isinstance(element, DocxParagraph)
            and isinstance(before, DocxParagraph)
            and _is_plain(element)
            and _is_plain(before)
            and _goes_on(before.text, last, element.text, width)
        ):
            joined[-1] = replace(before, text=join_lines(before.text, element.text, words))
        else:
            joined.append(element)
        last = element.text
    return joined


def _is_plain(element: Block | DocxParagraph) -> bool:
    return (
        isinstance(element, DocxParagraph)
        and not element.outline
        and element.label is None
        and not element.bold
        and element.alignment not in {"center", "right"}
    )


def _goes_on(text: str, last: str, following: str, width: int) -> bool:
    if not any(map(str.isalnum, last)) or not any(map(str.isalnum, following)):
        # A line of dashes.
        return False
    title = heading_mark(text)
    if title is not None and title.strong and not following[:1].islower():
        # A title may fill its line; the text below it begins with a capital.
        return False
    mark = heading_mark(following)
    return not (mark is not None and mark.strong) and continues(last, following, width)
