"""What a format parser hands over before the report is filled in."""

from __future__ import annotations

from dataclasses import dataclass

from ingest_svc.document import Block


@dataclass(frozen=True, slots=True)
class Draft:
    """Blocks of one file and what only its parser can know.

    Attributes:
        blocks: in reading order.
        parser: name of the parser for the report.
        title: title the file names, "" when it names none.
        pages: pages, 0 where the format has none.
        image_share: share of page area under images, 0 to 1.
        unreadable_share: share of unreadable characters when the parser already dropped them, 0 to 1.
        removed_characters: page furniture the parser left out, code points.
        warnings: for the reviewer.
    """

    blocks: tuple[Block, ...]
    parser: str
    title: str = ""
    pages: int = 0
    image_share: float = 0.0
    unreadable_share: float = 0.0
    removed_characters: int = 0
    warnings: tuple[str, ...] = ()
