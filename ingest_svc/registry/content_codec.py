"""Parsed content as JSON and back."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import Any

from ingest_svc.document import Block, BlockKind, ParseReport
from ingest_svc.registry.records import ParsedContent

_REPORT_FIELDS = {item.name for item in fields(ParseReport)}


def blocks_to_json(blocks: tuple[Block, ...]) -> list[Any]:
    """One [kind, text, level, [first page, last page] or null] a block."""
    return [
        [block.kind.value, block.text, block.level, list(block.pages) if block.pages else None]
        for block in blocks
    ]


def report_to_json(report: ParseReport) -> dict[str, Any]:
    return {**asdict(report), "warnings": list(report.warnings)}


def content_from_json(title: str, blocks: list[Any], report: dict[str, Any]) -> ParsedContent:
    """What was stored; report fields that this release does not know are left out."""
    known = {name: value for name, value in report.items() if name in _REPORT_FIELDS}
    known["warnings"] = tuple(known.get("warnings", ()))
    return ParsedContent(
        blocks=tuple(
            Block(BlockKind(kind), text, level, tuple(pages) if pages else None)
            for kind, text, level, pages in blocks
        ),
        title=title,
        report=ParseReport(**known),
    )
