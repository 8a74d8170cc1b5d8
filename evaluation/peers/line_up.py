"""Which peers are compared, with which chunks."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from evaluation.peers.embedding import ServiceEmbedder
from evaluation.peers.formats import Export
from evaluation.peers.systems import Piece, System, child_pieces
from evaluation.progress import progress_on

# radref's parents hold at most this; so peers get the same room for once.
LARGE_TOKENS = 1800
# haiku.rag asks for it; with an older Python only Haystack is compared.
_HAIKU_PYTHON = (3, 12)


@dataclass(frozen=True)
class Indexer:
    """Indexes an export in every peer.

    Args:
        export: what to index.
        embedder: for everyone.
        databases: folder for haiku.rag's databases; a subfolder lives as long as the comparison.
        console: for progress.
    """

    export: Export
    embedder: ServiceEmbedder
    databases: Path
    console: Console

    @asynccontextmanager
    async def peers(self) -> AsyncIterator[list[System]]:
        """The peers, ready to search; closed at the end."""
        async with AsyncExitStack() as stack:
            systems = self._haystack()
            if sys.version_info >= _HAIKU_PYTHON:
                systems += await self._haiku(stack)
            else:
                self.console.print("haiku.rag needs Python 3.12; it is left out")
            yield systems

    def _haystack(self) -> list[System]:
        from evaluation.peers.haystack_peer import DEFAULT_WORDS, Haystack, split

        large = self._words(LARGE_TOKENS)
        lines: list[tuple[str, list[Piece]]] = [
            (f"Haystack, its chunks ({DEFAULT_WORDS} words)", split(self.export.documents)),
            (f"Haystack, chunks of {large} words (about 1,800 tokens)", split(self.export.documents, large)),
            ("Haystack, radref's children and parents", child_pieces(self.export.parents)),
        ]
        systems: list[System] = []
        for label, pieces in lines:
            vectors = self._vectors(label, [piece.text for piece in pieces])
            systems.append(Haystack(label, pieces, vectors, self.embedder))
        return systems

    async def _haiku(self, stack: AsyncExitStack) -> list[System]:
        from haiku.rag.embeddings import contextualize

        from evaluation.peers.haiku_peer import (
            DEFAULT_TOKENS,
            chunk,
            chunks_of,
            convert,
            haiku_config,
            open_haiku,
        )

        self.databases.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(dir=self.databases))
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        config = haiku_config(folder, self.embedder)
        with self.console.status("haiku.rag reads and cuts the documents ..."):
            converted = await convert(self.export.documents, config)
            own = await chunk(converted, config, self.embedder, DEFAULT_TOKENS)
            large = await chunk(converted, config, self.embedder, LARGE_TOKENS)
        children = child_pieces(self.export.parents)
        passages = {piece.key: piece.passage for piece in children}
        lines = [
            (f"haiku.rag, its chunks ({DEFAULT_TOKENS} tokens)", own, None),
            ("haiku.rag, its chunks up to 1,800 tokens", large, None),
            ("haiku.rag, radref's children and parents", chunks_of(children), passages),
        ]
        systems: list[System] = []
        for number, (label, chunks, keyed) in enumerate(lines):
            # haiku.rag asks for the same vectors while it imports; they come from the file then.
            self._vectors(label, contextualize([item for items in chunks.values() for item in items]))
            with self.console.status(f"{label}: writing the database ..."):
                database = folder / f"{number}.lancedb"
                system = await open_haiku(label, database, config, converted, chunks, self.embedder, keyed)
            stack.push_async_callback(system.close)
            systems.append(system)
            if number == 0:
                systems.append(system.expanded(f"{label}, context expanded"))
        return systems

    def _words(self, tokens: int) -> int:
        """Words that make so many tokens on the average of the corpus."""
        texts = [document.markdown for document in self.export.documents]
        words = sum(len(text.split()) for text in texts)
        return tokens * words // sum(self.embedder.tokens(texts))

    def _vectors(self, label: str, texts: Sequence[str]) -> list[list[float]]:
        with progress_on(self.console) as progress:
            bar = progress.add_task(f"Embedding: {label}", total=len(set(texts)))
            return self.embedder.documents(texts, on_done=lambda count: progress.advance(bar, count))
