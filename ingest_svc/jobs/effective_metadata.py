"""Title and language of a document whose curator left them out. Pure."""

from __future__ import annotations

from pathlib import PurePath

from ingest_svc.chunking.outline import heading_title
from ingest_svc.document import BlockKind
from ingest_svc.metadata import MAX_TITLE, UNDETERMINED_LANGUAGE
from ingest_svc.registry.records import ParsedContent


def effective_title(given: str, content: ParsedContent, file_name: str) -> str:
    """The curator's title, else the file's own, else its first heading, else the file name without ending.

    Returns:
        1-500 characters on one line.
    """
    headings = (heading_title(block.text) for block in content.blocks if block.kind is BlockKind.HEADING)
    candidates = (given, content.title, next(headings, ""), PurePath(file_name).stem, file_name)
    lines = (" ".join(candidate.split()) for candidate in candidates)
    return next(line for line in lines if line)[:MAX_TITLE].rstrip()


def effective_language(given: str, content: ParsedContent) -> str:
    """The curator's language, else the detected one, else "und" (BCP 47: undetermined)."""
    return given or content.report.language or UNDETERMINED_LANGUAGE
