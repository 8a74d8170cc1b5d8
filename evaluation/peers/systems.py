"""A system under comparison, and radref as one."""

from __future__ import annotations

import time
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from evaluation.peers.export import PARENTS, search
from evaluation.peers.formats import Parent
from radref.client import RadrefClient

# Candidates a leg brings into a peer's fusion; radref's funnel keeps 90 as well.
POOL = 90


@dataclass(frozen=True)
class Found:
    """What one search gave.

    Attributes:
        passages: texts, best first, at most 13.
        seconds: from the question to the passages.
        embed_seconds: the part of it that the embedding of the question took.
    """

    passages: tuple[str, ...]
    seconds: float
    embed_seconds: float


@dataclass(frozen=True)
class Piece:
    """What a peer indexes: `text` is searched, `passage` is what a hit stands for, named by `key`."""

    text: str
    key: str
    passage: str
    document_id: str


class System(Protocol):
    """A system that is indexed and ready."""

    @property
    def label(self) -> str:
        """For tables; different for every system."""
        ...

    @property
    def pieces(self) -> Sequence[str]:
        """The texts it embedded."""
        ...

    async def search(self, query: str) -> Found:
        """Up to 13 passages, best first."""
        ...


class Radref:
    """A running radref; its time is that of `Search` at the gateway, seen by the client.

    Args:
        client: connected.
        parents: of the export; for the number of children only.
        timeout: seconds a call.
    """

    def __init__(self, client: RadrefClient, parents: Sequence[Parent], timeout: float) -> None:
        self.label = "radref"
        self.pieces = [piece.text for piece in child_pieces(parents)]
        self._client = client
        self._timeout = timeout

    async def search(self, query: str) -> Found:
        started = time.perf_counter()
        response = await search(self._client, query, timeout=self._timeout)
        seconds = time.perf_counter() - started
        embedding = sum(timing.milliseconds for timing in response.timings if timing.stage == "embed") / 1000
        return Found(tuple(item.passage.text for item in response.ranked_parents), seconds, embedding)


def child_pieces(parents: Iterable[Parent]) -> list[Piece]:
    """radref's children; a hit stands for its parent."""
    return [
        Piece(parent.text[start:end], parent.citation_id, parent.text, parent.document_id)
        for parent in parents
        for start, end in parent.children
    ]


def first_passages(ranked: Iterable[tuple[Hashable, str]], limit: int = PARENTS) -> tuple[str, ...]:
    """The passages of the first `limit` different keys, in order."""
    passages: dict[Hashable, str] = {}
    for key, passage in ranked:
        passages.setdefault(key, passage)
        if len(passages) == limit:
            break
    return tuple(passages.values())
