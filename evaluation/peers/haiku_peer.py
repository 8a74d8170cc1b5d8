"""haiku.rag: LanceDB hybrid search (full text + vectors, reciprocal rank fusion)."""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

# Read when haiku.rag is imported: its tracing stays off without a warning.
os.environ.setdefault("LOGFIRE_IGNORE_NO_CONFIG", "1")

from docling_core.transforms.chunker.hybrid_chunker import HybridChunker
from docling_core.transforms.chunker.tokenizer.base import BaseTokenizer
from docling_core.types.doc.document import DoclingDocument
from haiku.rag.chunkers.docling_local import DoclingLocalChunker, _create_markdown_serializer_provider
from haiku.rag.client import HaikuRAG
from haiku.rag.client.documents import DocumentImport
from haiku.rag.config import AppConfig
from haiku.rag.config.models import EmbeddingModelConfig, EmbeddingsConfig, StorageConfig
from haiku.rag.converters import get_converter
from haiku.rag.embeddings import EmbedderWrapper, contextualize
from haiku.rag.store.models.chunk import Chunk
from pydantic import ConfigDict

from evaluation.peers.embedding import ServiceEmbedder
from evaluation.peers.export import PARENTS
from evaluation.peers.formats import Document
from evaluation.peers.systems import POOL, Found, Piece, first_passages

# Key in a chunk's metadata that names the passage it stands for.
_KEY = "radref_passage"
DEFAULT_TOKENS = AppConfig().processing.chunk_size


class ServiceEmbedderWrapper(EmbedderWrapper):
    """The model behind haiku.rag's own interface for embedders."""

    def __init__(self, embedder: ServiceEmbedder) -> None:
        super().__init__(None, embedder.dimensions)
        self._service = embedder

    async def _embed_query(self, text: str) -> list[float]:
        return self._service.query(text)

    async def _embed_documents(self, texts: list[str]) -> list[list[float]]:
        return self._service.documents(texts)


class ServiceTokenizer(BaseTokenizer):
    """Counts tokens of the embedding model; haiku.rag's default tokenizer comes from a model hub."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    embedder: ServiceEmbedder
    max_tokens: int

    def count_tokens(self, text: str) -> int:
        return self.embedder.count(text)

    def get_max_tokens(self) -> int:
        return self.max_tokens

    def get_tokenizer(self) -> Any:
        return self.count_tokens


class ServiceTokenChunker(DoclingLocalChunker):
    """haiku.rag's hybrid chunker with its defaults, but for the tokenizer and the size."""

    def __init__(self, config: AppConfig, embedder: ServiceEmbedder, tokens: int) -> None:
        self.config = config
        self.chunker = HybridChunker(
            tokenizer=ServiceTokenizer(embedder=embedder, max_tokens=tokens),
            merge_peers=config.processing.chunking_merge_peers,
            serializer_provider=_create_markdown_serializer_provider(
                use_markdown_tables=config.processing.chunking_use_markdown_tables
            ),
        )


class Haiku:
    """A haiku.rag database. Make it with `open_haiku`.

    With `expand`, passages are what haiku.rag gives a language model: neighbouring items up to 5,000
    characters around a hit, overlapping ones merged.
    """

    def __init__(
        self,
        label: str,
        rag: HaikuRAG,
        pieces: Sequence[str],
        embedder: ServiceEmbedder,
        passages: dict[str, str] | None = None,
        *,
        expand: bool = False,
    ) -> None:
        self.label = label
        self.pieces = pieces
        self.rag = rag
        self._embedder = embedder
        self._passages = passages
        self._expand = expand

    async def search(self, query: str) -> Found:
        started = time.perf_counter()
        results = await self.rag.search(query, limit=POOL, include_images=False)
        if self._expand:
            results = await self.rag.expand_context(results[:PARENTS])
        if self._passages is None:
            passages = tuple(result.content for result in results[:PARENTS])
        else:
            keys = [result.chunk_meta[_KEY] for result in results]
            passages = first_passages((key, self._passages[key]) for key in keys)
        return Found(passages, time.perf_counter() - started, self._embedder.query_seconds)

    def expanded(self, label: str) -> Haiku:
        """The same database with context expansion."""
        return Haiku(label, self.rag, self.pieces, self._embedder, self._passages, expand=True)

    async def close(self) -> None:
        await self.rag.aclose()


def haiku_config(folder: Path, embedder: ServiceEmbedder) -> AppConfig:
    """haiku.rag's defaults with our model; no picture is fetched or kept, no passage goes to the network."""
    config = AppConfig(
        storage=StorageConfig(data_dir=folder, auto_vacuum=False),
        # Names the vectors only: the embedder that this makes is replaced before its first use.
        embeddings=EmbeddingsConfig(
            model=EmbeddingModelConfig(
                provider="openai", name=embedder.fingerprint, vector_dim=embedder.dimensions, api_key="unused"
            )
        ),
    )
    config.processing.pictures = "none"
    config.processing.conversion_options.fetch_remote_images = False
    return config


async def convert(documents: Sequence[Document], config: AppConfig) -> dict[str, DoclingDocument]:
    """Markdown as haiku.rag reads it, by document id."""
    converter = get_converter(config)
    return {document.document_id: await converter.convert_text(document.markdown) for document in documents}


async def chunk(
    converted: dict[str, DoclingDocument], config: AppConfig, embedder: ServiceEmbedder, tokens: int
) -> dict[str, list[Chunk]]:
    """Chunks of at most `tokens` tokens by haiku.rag's chunker, by document id."""
    for document in converted.values():
        # All words in a few calls; the chunker then counts small texts by the thousand.
        embedder.count(document.export_to_text())
    chunker = ServiceTokenChunker(config, embedder, tokens)
    chunks = {name: await chunker.chunk(document) for name, document in converted.items()}
    embedder.keep()
    return {name: [item for item in items if item.content.strip()] for name, items in chunks.items()}


def chunks_of(pieces: Sequence[Piece]) -> dict[str, list[Chunk]]:
    """radref's pieces as chunks, by document id."""
    chunks: dict[str, list[Chunk]] = defaultdict(list)
    for piece in pieces:
        chunks[piece.document_id].append(Chunk(content=piece.text, metadata={_KEY: piece.key}))
    return dict(chunks)


async def open_haiku(
    label: str,
    database: Path,
    config: AppConfig,
    converted: dict[str, DoclingDocument],
    chunks: dict[str, list[Chunk]],
    embedder: ServiceEmbedder,
    passages: dict[str, str] | None = None,
) -> Haiku:
    """A new database with these documents and chunks, ready to search.

    Args:
        label: for tables.
        database: a path that does not exist yet.
        config: of `haiku_config`.
        converted: of `convert`.
        chunks: of `chunk` or `chunks_of`.
        embedder: for chunks and questions.
        passages: passage a key, for `chunks_of`; None = a chunk is its own passage.
    """
    rag = HaikuRAG(database, config=config, create=True)
    await rag.__aenter__()
    wrapper = ServiceEmbedderWrapper(embedder)
    rag.store.embedder = wrapper
    rag.chunk_repository.embedder = wrapper
    await rag.import_documents(
        [
            # With a title, none is made up.
            DocumentImport(document, chunks[name], uri=f"radref://{name}", title=name)
            for name, document in converted.items()
            if chunks.get(name)
        ]
    )
    # Brings the full-text index up to date.
    await rag.vacuum(retention_seconds=0)
    pieces = contextualize([item for items in chunks.values() for item in items])
    return Haiku(label, rag, pieces, embedder, passages)
