"""Publisher and provider boilerplate that is certain."""

from __future__ import annotations

import re

from ingest_svc.document import Block, BlockKind

Blocks = tuple[Block, ...]

# Whole paragraphs only; each is wording of a publisher or converter that says nothing about the subject.
_BOILERPLATE = tuple(
    re.compile(pattern, re.I)
    for pattern in (
        r"^документ предоставлен консультант\s?плюс\.?$",
        r"^(?:www\.)?consultant\.ru$",
        r"^надежная правовая поддержка$",
        r"^дата сохранения: \d{2}\.\d{2}\.\d{4}\.?$",
        r"^(?:система )?гарант\.ру$",
        r"^this page (?:is )?intentionally left blank\.?$",
        r"^(?:\[|\()?intentionally left blank(?:\]|\))?\.?$",
        r"^(?:©|\(c\)|copyright)\s[^.]{0,120}all rights reserved\.?$",
        r"^(?:diese seite (?:wurde|ist) (?:absichtlich|bewusst) (?:leer|frei) (?:gelassen|geblieben)\.?)$",
        r"^downloaded from \S+( (?:by|on) [^.]{0,80})?$",
        r"^(?:jump|skip) to (?:main )?(?:content|navigation|search)\.?$",
        r"^(?:back to top|nach oben|наверх|print this page|share this page|cookie settings)$",
    )
)


def drop_boilerplate(blocks: Blocks) -> Blocks:
    """Drops paragraphs that are nothing but boilerplate. A sentence that also says something else stays."""
    return tuple(
        block
        for block in blocks
        if block.kind is not BlockKind.PARAGRAPH
        or not any(pattern.match(block.text) for pattern in _BOILERPLATE)
    )
