"""Page marks that survived parsing as blocks of their own."""

from __future__ import annotations

import re
from collections import Counter

from ingest_svc.document import Block, BlockKind

Blocks = tuple[Block, ...]

_NAMED_PAGE = re.compile(
    r"^\W*(?:page|seite|стр\.|страница|лист)\s*\d{1,4}(?:\s*(?:of|/|von|из)\s*\d{1,4})?\W*$", re.I
)
_RULER = re.compile(r"^[\s\-_=*~—–.·]{3,}$")
# A short paragraph that stands this often, and never as an answer ("Yes", "None"), is a running header.
_MIN_REPEATS = 6
_MIN_LETTERS = 12


def drop_page_marks(blocks: Blocks) -> Blocks:
    """Drops "Page 3 of 12", rulers, and running headers between paragraphs.

    Bare numbers stay: without the page sequence of the original they may be data. So do headings, lists,
    tables and repeated paragraphs that say something (they have sentence or colon endings).
    """
    repeats = Counter(
        _shape(block.text) for block in blocks if block.kind is BlockKind.PARAGRAPH and _may_run(block.text)
    )
    return tuple(
        block
        for block in blocks
        if block.kind is not BlockKind.PARAGRAPH
        or not (
            _NAMED_PAGE.match(block.text)
            or _RULER.match(block.text)
            or (_may_run(block.text) and repeats[_shape(block.text)] >= _MIN_REPEATS)
        )
    )


def _shape(text: str) -> str:
    return " ".join(text.lower().split())


def _may_run(text: str) -> bool:
    letters = sum(char.isalpha() for char in text)
    numbers = any(char.isdigit() for char in text)
    return (
        letters >= _MIN_LETTERS
        and len(text) <= 100
        and len(text.split()) >= 3
        and not numbers
        and text[-1] not in ".!?:;,)"
        and text[0].isupper()
        and text.isprintable()
    )
