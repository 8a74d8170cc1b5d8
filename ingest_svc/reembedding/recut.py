"""A searched version cut again for another model: the same parents, children that fit that model.

Citations name parents, so these stay as they were cut, by the tokenizer that reproduces what the registry
knows. Children are only searched: where the other model counts tokens differently they are cut anew.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from ingest_svc.chunking.children import embedding_text, split_children
from ingest_svc.chunking.chunk import chunk_document
from ingest_svc.chunking.model import ChunkLimits, ParentChunk
from ingest_svc.chunking.tokens import TokenMap
from ingest_svc.document import PlacedBlock, render
from ingest_svc.jobs.chunk_step import ChildText, Chunks
from ingest_svc.jobs.ports import EmbeddingModel, Inference
from ingest_svc.registry.records import ParsedContent, Passage, Version
from ingest_svc.registry.vectors import text_key
from ingest_svc.variants.reading import limits_of


@dataclass(frozen=True, slots=True)
class _Counted:
    """A document's tokens by one model."""

    tokens: TokenMap
    overhead: int
    title_tokens: int


async def recut(
    version: Version,
    content: ParsedContent,
    limits: ChunkLimits,
    *,
    target: EmbeddingModel,
    cutters: Sequence[EmbeddingModel],
    inference: Callable[[str], Inference],
    known: Collection[str],
    late: bool,
) -> Chunks:
    """Parents and children of a version for the model `target`.

    Args:
        cutters: models whose tokenizers may have cut the parents, the likeliest first.
        inference: calls of a model by its id.
        known: citation ids of the version in the registry. Where no tokenizer reproduces parents among them,
            the parents are those that `target` cuts.
        late: see `chunk_version`.

    Raises:
        RadrefError: what the inference service said.
    """
    limits = limits_of(version.document_id, limits)
    text, placed = await asyncio.to_thread(render, content.blocks)
    own = await _counted(inference(target.id), text, version, limits)
    seen: set[tuple[str, int]] = set()
    for cutter in (*cutters, target):
        identity = cutter.tokenizer or cutter.fingerprint, cutter.overhead
        if identity in seen:
            continue
        seen.add(identity)
        same = identity == (target.tokenizer or target.fingerprint, target.overhead)
        counted = own if same else await _counted(inference(cutter.id), text, version, limits)
        chunks = await asyncio.to_thread(_cut, version, text, placed, limits, counted)
        if all(chunk.parent.citation_id in known for chunk in chunks):
            break
    else:
        # `target` is the last of the cutters that were tried, or cuts like one of them.
        chunks = await asyncio.to_thread(_cut, version, text, placed, limits, own)
        same = True
    if not same:
        chunks = await asyncio.to_thread(_children_anew, version, chunks, limits, own)
    return _assembled(version, chunks, late=late)


async def _counted(inference: Inference, text: str, version: Version, limits: ChunkLimits) -> _Counted:
    tokens = await inference.tokenize(text)
    title_tokens = 0
    if limits.heading_prefix:
        title_tokens = len((await inference.tokenize(version.metadata.title)).offsets)
    return _Counted(await asyncio.to_thread(TokenMap, text, tokens.offsets), tokens.overhead, title_tokens)


def _cut(
    version: Version, text: str, placed: Sequence[PlacedBlock], limits: ChunkLimits, counted: _Counted
) -> Sequence[ParentChunk]:
    return chunk_document(
        text,
        placed,
        counted.tokens,
        limits,
        document_id=version.document_id,
        version=version.version,
        overhead=counted.overhead,
        title=version.metadata.title,
        title_tokens=counted.title_tokens,
    ).chunks


def _children_anew(
    version: Version, chunks: Sequence[ParentChunk], limits: ChunkLimits, counted: _Counted
) -> Sequence[ParentChunk]:
    title = version.metadata.title
    return [
        ParentChunk(
            chunk.parent,
            tuple(
                split_children(
                    chunk.parent, counted.tokens, limits, counted.overhead, title, counted.title_tokens
                )
            ),
        )
        for chunk in chunks
    ]


def _assembled(version: Version, chunks: Sequence[ParentChunk], *, late: bool) -> Chunks:
    passages: list[Passage] = []
    children: list[ChildText] = []
    for parent, own in ((chunk.parent, chunk.children) for chunk in chunks):
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
        for child in own:
            embedded = embedding_text(parent, child)
            # As `chunk_version` names them, so that vectors are found again whoever made them.
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
    return Chunks(passages, children, ())
