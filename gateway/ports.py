"""What the gateway needs of its neighbours. Adapters live in gateway/clients."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import Protocol

from gateway.model import (
    GenerationEnd,
    Passage,
    PromptMessage,
    RankedPassage,
    Reranked,
    Retrieved,
    SearchQuery,
    Source,
)


class Searching(Protocol):
    """Finds passages."""

    async def retrieve(self, query: SearchQuery) -> Retrieved:
        """Raises InvalidInput (unknown topic, limit out of range) and Unavailable."""
        ...


class Reranking(Protocol):
    """Judges passages."""

    async def rerank(self, query: str, passages: Sequence[Passage]) -> Reranked:
        """Raises Unimplemented when no reranker is loaded, and Unavailable."""
        ...


class Generating(Protocol):
    """Writes or quotes."""

    def generate(
        self,
        *,
        model: str,
        messages: Sequence[PromptMessage],
        query: str,
        passages: Sequence[RankedPassage],
        json_schema: str,
        max_tokens: int,
    ) -> AsyncGenerator[str | GenerationEnd, None]:
        """Pieces of the output in order, then its end. Closing the iterator stops the generator.

        Raises InvalidInput (unknown model, prompt too long) and Unavailable.
        """
        ...


class PassageKeeping(Protocol):
    """Keeps every passage that was ever indexed."""

    async def passage(self, citation_id: str) -> Source:
        """Raises NotFound and Unavailable."""
        ...
