"""Vectors of a document's children, in bounded batches; every batch is kept, so that none is made twice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Protocol

from ingest_svc.jobs.chunk_step import ChildText, Chunks
from ingest_svc.jobs.ports import Inference
from ingest_svc.registry.vectors import Vector
from radref.errors import Unavailable

# Texts of one EmbedSpans call (inference.proto).
_MAX_SPANNED_TEXTS = 64


class KeptVectors(Protocol):
    """Where vectors are kept, so that none is made twice; a job's journal, among others."""

    async def vectors(self, fingerprint: str) -> dict[str, Vector]:
        """What was kept of this model, by `ChildText.key`."""
        ...

    async def embedded(self, fingerprint: str, made: Mapping[str, Vector], done: int) -> None:
        """Keeps new vectors; `done`: parents whose vectors are all there."""
        ...


async def embed_chunks(
    inference: Inference, kept: KeptVectors, chunks: Chunks, batch_size: int, *, late: bool
) -> tuple[str, dict[str, Vector]]:
    """Vectors of all children by `ChildText.key`, all of one model.

    Args:
        batch_size: children a call, 1-256; a late-chunked parent is never divided.
        late: the whole parent goes through the encoder once, token vectors are averaged over each child
            (Günther et al. 2024, arXiv:2409.04701); else each child is embedded by itself.

    Returns:
        The model's fingerprint, and the vectors.

    Raises:
        Unavailable: NOT_READY, the model was exchanged meanwhile: the next attempt starts over with it.
        RadrefError: what the inference service said.
    """
    fingerprint = await inference.fingerprint()
    vectors = await kept.vectors(fingerprint)
    missing = [child for child in _first_of_each_text(chunks.children) if child.key not in vectors]
    await kept.embedded(fingerprint, {}, _parents_done(chunks, vectors))
    texts = {passage.citation_id: passage.text for passage in chunks.passages} if late else {}
    for batch in _parents(missing, batch_size) if late else _batches(missing, batch_size):
        if late:
            used, found = await _late_vectors(inference, batch, texts)
        else:
            embedded = await inference.embed([child.embedding_text for child in batch])
            used, found = embedded.fingerprint, embedded.vectors
        if used != fingerprint:
            raise Unavailable("The embedding model was exchanged during the work.", reason="NOT_READY")
        made = dict(zip((child.key for child in batch), found, strict=True))
        vectors.update(made)
        await kept.embedded(fingerprint, made, _parents_done(chunks, vectors))
    return fingerprint, vectors


def _first_of_each_text(children: Sequence[ChildText]) -> Iterator[ChildText]:
    seen: set[str] = set()
    for child in children:
        if child.key not in seen:
            seen.add(child.key)
            yield child


def _batches(children: Sequence[ChildText], size: int) -> Iterator[Sequence[ChildText]]:
    for start in range(0, len(children), size):
        yield children[start : start + size]


def _parents(children: Sequence[ChildText], size: int) -> Iterator[Sequence[ChildText]]:
    """Children of whole parents, about `size` of them."""
    batch: list[ChildText] = []
    parents = 0
    for _, own in groupby(children, key=lambda child: child.citation_id):
        batch += own
        parents += 1
        if len(batch) >= size or parents == _MAX_SPANNED_TEXTS:
            yield batch
            batch, parents = [], 0
    if batch:
        yield batch


async def _late_vectors(
    inference: Inference, children: Sequence[ChildText], texts: Mapping[str, str]
) -> tuple[str, Sequence[Vector]]:
    spanned = [
        (texts[citation_id], [(child.start, child.end) for child in own])
        for citation_id, own in groupby(children, key=lambda child: child.citation_id)
    ]
    embedded = await inference.embed_spans(spanned)
    return embedded.fingerprint, [vector for own in embedded.vectors for vector in own]


def _parents_done(chunks: Chunks, vectors: dict[str, Vector]) -> int:
    pending = {child.citation_id for child in chunks.children if child.key not in vectors}
    return len(chunks.passages) - len(pending)
