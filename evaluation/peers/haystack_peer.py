"""Haystack: hybrid BM25 + dense with reciprocal rank fusion over its in-memory store."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence

# Read when haystack is imported; the comparison stays on this machine.
os.environ.setdefault("HAYSTACK_TELEMETRY_ENABLED", "False")

from haystack import Document as HaystackDocument
from haystack import Pipeline, component
from haystack.components.joiners import DocumentJoiner
from haystack.components.preprocessors import DocumentSplitter
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever, InMemoryEmbeddingRetriever
from haystack.document_stores.in_memory import InMemoryDocumentStore

from evaluation.peers.embedding import ServiceEmbedder
from evaluation.peers.formats import Document
from evaluation.peers.systems import POOL, Found, Piece, first_passages

# The splitter's own default.
DEFAULT_WORDS = 200


@component
class ServiceTextEmbedder:
    """The model as a component, in the place of Haystack's own text embedders."""

    def __init__(self, embedder: ServiceEmbedder) -> None:
        self._embedder = embedder

    @component.output_types(embedding=list[float])  # type: ignore[untyped-decorator]
    def run(self, text: str) -> dict[str, list[float]]:
        return {"embedding": self._embedder.query(text)}


class Haystack:
    """An in-memory store of pieces behind the pipeline of Haystack's hybrid retrieval tutorial.

    Everything is Haystack's default (BM25L with its tokenizer, dot product, RRF) but the number of candidates
    of each retriever.

    Args:
        label: for tables.
        pieces: what to index.
        vectors: one a piece.
        embedder: for the questions.
    """

    def __init__(
        self, label: str, pieces: Sequence[Piece], vectors: Sequence[list[float]], embedder: ServiceEmbedder
    ) -> None:
        self.label = label
        self.pieces = [piece.text for piece in pieces]
        self._embedder = embedder
        self._passages = {piece.key: piece.passage for piece in pieces}
        store = InMemoryDocumentStore()
        store.write_documents(
            [
                # The number keeps equal texts apart: the id is a hash of text and meta.
                HaystackDocument(
                    content=piece.text, meta={"key": piece.key, "number": number}, embedding=vector
                )
                for number, (piece, vector) in enumerate(zip(pieces, vectors, strict=True))
            ]
        )
        self._pipeline = Pipeline()
        self._pipeline.add_component("text_embedder", ServiceTextEmbedder(embedder))
        self._pipeline.add_component("dense", InMemoryEmbeddingRetriever(store, top_k=POOL))
        self._pipeline.add_component("bm25", InMemoryBM25Retriever(store, top_k=POOL))
        self._pipeline.add_component("joiner", DocumentJoiner(join_mode="reciprocal_rank_fusion"))
        self._pipeline.connect("text_embedder.embedding", "dense.query_embedding")
        self._pipeline.connect("bm25", "joiner")
        self._pipeline.connect("dense", "joiner")

    async def search(self, query: str) -> Found:
        started = time.perf_counter()
        output = self._pipeline.run({"text_embedder": {"text": query}, "bm25": {"query": query}})
        found = [item.meta["key"] for item in output["joiner"]["documents"]]
        passages = first_passages((key, self._passages[key]) for key in found)
        return Found(passages, time.perf_counter() - started, self._embedder.query_seconds)


def split(documents: Sequence[Document], words: int = DEFAULT_WORDS) -> list[Piece]:
    """Chunks of `words` words by Haystack's DocumentSplitter without overlap, as its defaults are."""
    splitter = DocumentSplitter(split_by="word", split_length=words)
    chunks = splitter.run(
        documents=[
            HaystackDocument(content=document.markdown, meta={"document_id": document.document_id})
            for document in documents
        ]
    )["documents"]
    # A chunk of white space cannot be embedded and holds no quote.
    return [
        Piece(chunk.content, f"chunk-{number}", chunk.content, chunk.meta["document_id"])
        for number, chunk in enumerate(chunks)
        if chunk.content.strip()
    ]
