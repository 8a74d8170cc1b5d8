"""Parents and children of a version, and the texts that are embedded for them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from ingest_svc.chunking.children import embedding_text
from ingest_svc.chunking.chunk import chunk_document
from ingest_svc.chunking.model import ChunkedDocument, ChunkLimits
from ingest_svc.chunking.tokens import TokenMap
from ingest_svc.document import PlacedBlock, render
from ingest_svc.jobs.ports import Inference, Tokens
from ingest_svc.registry.records import ParsedContent, Passage, Version
from ingest_svc.registry.vectors import text_key
from ingest_svc.variants.reading import limits_of
from radref.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class ChildText:
    """A child and what is embedded for it; `key` names its vector among those of the job."""

    citation_id: str
    ordinal: int
    start: int
    end: int
    section_path: tuple[str, ...]
    embedding_text: str
    key: str


@dataclass(frozen=True, slots=True)
class Chunks:
    """Passages and children of a version, in order, and what a curator should look at."""

    passages: Sequence[Passage]
    children: Sequence[ChildText]
    warnings: Sequence[str]


async def chunk_version(
    inference: Inference, version: Version, content: ParsedContent, limits: ChunkLimits, *, late: bool
) -> Chunks:
    """Cuts a version; the same content and tokenizer always give the same parents.

    Args:
        late: vectors will come from the whole parent, so a child's depends on its place and not on its text
            alone.

    Raises:
        InvalidInput: NO_TEXT, nothing is left to index.
        RadrefError: what the inference service said.
    """
    limits = limits_of(version.document_id, limits)
    text, placed = await asyncio.to_thread(render, content.blocks)
    if not text.strip():
        raise InvalidInput("The file holds no text that could be searched.", reason="NO_TEXT")
    tokens = await inference.tokenize(text)
    title_tokens = 0
    if limits.heading_prefix:
        title_tokens = len((await inference.tokenize(version.metadata.title)).offsets)
    return await asyncio.to_thread(_cut, version, content, text, placed, tokens, title_tokens, limits, late)


def _cut(
    version: Version,
    content: ParsedContent,
    text: str,
    placed: Sequence[PlacedBlock],
    tokens: Tokens,
    title_tokens: int,
    limits: ChunkLimits,
    late: bool,
) -> Chunks:
    chunked = chunk_document(
        text,
        placed,
        TokenMap(text, tokens.offsets),
        limits,
        document_id=version.document_id,
        version=version.version,
        overhead=tokens.overhead,
        title=version.metadata.title,
        title_tokens=title_tokens,
    )
    passages: list[Passage] = []
    children: list[ChildText] = []
    for chunk in chunked.chunks:
        parent = chunk.parent
        passages.append(
            Passage(
                parent.citation_id,
                version.document_id,
                version.version,
                parent.ordinal,
                parent.text,
                parent.section_path,
                parent.pages,
            )
        )
        for child in chunk.children:
            embedded = embedding_text(parent, child)
            # The citation id holds the parent's text.
            named = f"{parent.citation_id}:{child.start}-{child.end}" if late else embedded
            children.append(
                ChildText(
                    parent.citation_id,
                    child.ordinal,
                    child.start,
                    child.end,
                    child.section_path,
                    embedded,
                    text_key(named),
                )
            )
    if not passages or not children:
        raise InvalidInput("The file holds no text that could be searched.", reason="NO_TEXT")
    return Chunks(passages, children, (*content.report.warnings, *_warnings(chunked)))


def _warnings(chunked: ChunkedDocument) -> list[str]:
    report = chunked.report
    warnings = []
    if report.indivisible_rows:
        warnings.append(f"{len(report.indivisible_rows)} table rows are longer than a passage may be")
    if report.unrepeated_headers:
        warnings.append(f"{report.unrepeated_headers} table headers are too long to be repeated")
    return warnings
