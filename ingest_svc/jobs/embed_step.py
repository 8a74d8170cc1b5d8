"""Vectors of a document's children, in bounded batches; every batch is kept, so that none is made twice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ingest_svc.jobs.chunk_step import ChildText, Chunks
from ingest_svc.jobs.journal import Journal
from ingest_svc.jobs.ports import Inference
from ingest_svc.registry.vectors import Vector
from radref.errors import Unavailable


async def embed_chunks(
    inference: Inference, journal: Journal, chunks: Chunks, batch_size: int
) -> tuple[str, dict[str, Vector]]:
    """Vectors of all children by `text_key` of their embedding text, all of one model.

    Args:
        batch_size: texts a call, 1-256.

    Returns:
        The model's fingerprint, and the vectors.

    Raises:
        Unavailable: NOT_READY, the model was exchanged meanwhile: the next attempt starts over with it.
        RadrefError: what the inference service said.
    """
    fingerprint = await inference.fingerprint()
    vectors = await journal.vectors(fingerprint)
    missing = [child for child in _first_of_each_text(chunks.children) if child.key not in vectors]
    await journal.embedded(fingerprint, {}, _parents_done(chunks, vectors))
    for batch in _batches(missing, batch_size):
        embedded = await inference.embed([child.embedding_text for child in batch])
        if embedded.fingerprint != fingerprint:
            raise Unavailable("The embedding model was exchanged during the work.", reason="NOT_READY")
        made = dict(zip((child.key for child in batch), embedded.vectors, strict=True))
        vectors.update(made)
        await journal.embedded(fingerprint, made, _parents_done(chunks, vectors))
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


def _parents_done(chunks: Chunks, vectors: dict[str, Vector]) -> int:
    pending = {child.citation_id for child in chunks.children if child.key not in vectors}
    return len(chunks.passages) - len(pending)
