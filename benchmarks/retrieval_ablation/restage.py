"""An index made from documents whose vectors are known: only BM25 is computed anew."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from benchmarks.retrieval_ablation.corpus import Corpus, Document
from retrieval_svc.generations import Generations
from retrieval_svc.index import Index
from retrieval_svc.indexed_text import IndexedText
from retrieval_svc.query import Topics
from retrieval_svc.staging import Batch, StageHeader
from retrieval_svc.store.edge.generations import EdgeGenerations

T = TypeVar("T")

_BATCH = 100
# Never: what a graph misses would be mixed with what a row changes.
_COMPACT_AFTER = 10**7


async def stage_corpus(root: Path, corpus: Corpus, text: IndexedText, topics: Topics) -> Generations:
    """Stages every document into an empty folder as the service does; the index is open when it returns.

    Raises:
        InvalidInput: a document does not fit, e.g. its topic is not one of `topics`.
        Unavailable: the store failed.
    """
    stores = EdgeGenerations(root, topics=topics.all, compact_after_changes=_COMPACT_AFTER)
    generations = Generations(
        stores,
        lambda store, catalogue, changed: Index(
            store=store, catalogue=catalogue, text=text, on_change=changed
        ),
    )
    await generations.open()
    try:
        for document in corpus.documents:
            header = StageHeader(
                document_id=document.document_id,
                version=1,
                metadata=document.metadata,
                embedder_fingerprint=corpus.fingerprint,
                parents=len(document.parents),
                children=len(document.children),
            )
            await generations.stage(header, _batches(document))
            await generations.activate(document.document_id, 1)
    except BaseException:
        await generations.close()
        raise
    return generations


async def _batches(document: Document) -> AsyncIterator[Batch]:
    for parents in _slices(document.parents):
        yield Batch(parents, [])
    for children in _slices(document.children):
        yield Batch([], children)


def _slices(items: Sequence[T]) -> Iterator[Sequence[T]]:
    for start in range(0, len(items), _BATCH):
        yield items[start : start + _BATCH]
