"""A rendered document into parents, children and a report."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from ingest_svc.chunking.children import split_children
from ingest_svc.chunking.model import (
    ChunkedDocument,
    ChunkLimits,
    ChunkReport,
    IndivisibleRow,
    ParentChunk,
    TokenStatistics,
)
from ingest_svc.chunking.parents import parent_size, split_parents
from ingest_svc.chunking.pieces import rows
from ingest_svc.chunking.tables import header_of
from ingest_svc.chunking.tokens import TokenMap
from ingest_svc.document import BlockKind, PlacedBlock
from radref.errors import InvalidInput


def chunk_document(
    text: str,
    placed: Sequence[PlacedBlock],
    tokens: TokenMap,
    limits: ChunkLimits,
    *,
    document_id: str,
    version: int,
    overhead: int,
    title: str = "",
    title_tokens: int = 0,
) -> ChunkedDocument:
    """Cuts a document.

    Args:
        text, placed: what `ingest_svc.document.render` returned.
        tokens: tokens of `text` by the embedding model.
        limits: sizes.
        document_id, version: become part of the citation ids; version from 1.
        overhead: tokens that the model's document prefix and special tokens take, >= 0.
        title, title_tokens: see `split_children`; unused unless `limits.heading_prefix` is on.

    Raises:
        InvalidInput: NO_TEXT, when the document has no visible character; OUT_OF_RANGE, when `overhead`
            leaves no room.
    """
    parents = split_parents(text, placed, tokens, limits, document_id=document_id, version=version)
    if not parents:
        raise InvalidInput("The document holds no text.", reason="NO_TEXT")
    chunks = tuple(
        ParentChunk(parent, tuple(split_children(parent, tokens, limits, overhead, title, title_tokens)))
        for parent in parents
    )
    return ChunkedDocument(chunks, _report(text, placed, tokens, limits, chunks))


def _report(
    text: str,
    placed: Sequence[PlacedBlock],
    tokens: TokenMap,
    limits: ChunkLimits,
    chunks: tuple[ParentChunk, ...],
) -> ChunkReport:
    sizes = [parent_size(chunk.parent, tokens) for chunk in chunks]
    children = [child for chunk in chunks for child in chunk.children]
    return ChunkReport(
        parents=len(chunks),
        children=len(children),
        parent_tokens=_statistics(sizes),
        child_tokens=_statistics([child.tokens for child in children]),
        indivisible_rows=tuple(
            IndivisibleRow(chunk.parent.ordinal, chunk.parent.source, size)
            for chunk, size in zip(chunks, sizes, strict=True)
            if size > limits.parent_tokens
        ),
        divided_rows=sum(_divided_rows(chunk) for chunk in chunks),
        unrepeated_headers=_unrepeated_headers(text, placed, chunks),
        short_children=sum(
            len(child.text) < limits.child_characters <= len(chunk.parent.text)
            for chunk in chunks
            for child in chunk.children
        ),
    )


def _divided_rows(chunk: ParentChunk) -> int:
    cuts = [child.start for child in chunk.children[1:]]
    tables = [segment for segment in chunk.parent.segments if segment.kind is BlockKind.TABLE]
    return sum(
        any(row.start < cut < row.end for cut in cuts)
        for table in tables
        for row in rows(chunk.parent.text, table, header_apart=True)
    )


def _unrepeated_headers(text: str, placed: Sequence[PlacedBlock], chunks: tuple[ParentChunk, ...]) -> int:
    bare = {chunk.parent.source[0] for chunk in chunks if chunk.parent.repeated_header is None}
    return sum(
        any(item.start < start < item.end for start in bare)
        and header_of(text, item.start, item.end) is not None
        for item in placed
        if item.block.kind is BlockKind.TABLE
    )


def _statistics(sizes: Sequence[int]) -> TokenStatistics:
    if not sizes:
        return TokenStatistics()
    return TokenStatistics(sum(sizes), min(sizes), median(sizes), max(sizes))
