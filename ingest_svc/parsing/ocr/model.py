"""What reading a page image gives."""

from __future__ import annotations

from dataclasses import dataclass

from ingest_svc.document import Block


@dataclass(frozen=True, slots=True)
class OcrPage:
    """One page read from its image.

    Attributes:
        blocks: in reading order, each with pages (n, n); empty when nothing readable stands on the page.
        confidence: mean word confidence weighted by letters, 0 to 1; 0 when there are no words.
        words: words read.
        engine: name of the engine that read it, for the report.
        unsure: the confidence lies below the threshold of the settings.
        failure: reason of a page that was not read, PARSE_TIMEOUT or PARSER_CRASHED, "" when it was.
        note: for the reviewer, "" when there is nothing to say; no text of the page in it.
    """

    blocks: tuple[Block, ...]
    confidence: float
    words: int
    engine: str = ""
    unsure: bool = False
    note: str = ""
    failure: str = ""
