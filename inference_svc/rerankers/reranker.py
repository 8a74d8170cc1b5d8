"""What the service needs of a reranker, whichever model or backend stands behind it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class RerankerDescription:
    """What callers must know of a reranker.

    Attributes:
        id: model id, e.g. "qwen3-reranker".
        backend: what runs it, e.g. "triton".
        fingerprint: 16 hexadecimal digits; changes whenever weights, template or instruction do.
        window: tokens read at once, template, query and document together; 0 = not known.
    """

    id: str
    backend: str
    fingerprint: str
    window: int


@dataclass(frozen=True, slots=True)
class RerankedDocuments:
    """Relevance of n documents, in the order of the request.

    Attributes:
        scores: n values, 0 (irrelevant) to 1 (relevant), finite.
        truncated: n flags, true where the end of the document did not fit into the window.
        fingerprint: of the model that scored.
        compute_seconds: the model worked on them, see RerankResponse in inference.proto; 0 = not known, as of
            every remote model: a server's answer does not tell its own waiting from its work.
    """

    scores: Sequence[float]
    truncated: Sequence[bool]
    fingerprint: str
    compute_seconds: float = 0.0


class Reranker(Protocol):
    """Relevance of documents for a query. Methods may be called concurrently."""

    @property
    def id(self) -> str:
        """Id by which a request picks it."""

    @property
    def description(self) -> RerankerDescription:
        """What callers must know of the model.

        Raises:
            Unavailable: NOT_READY while the model has never answered.
        """

    async def rerank(self, query: str, documents: Sequence[str]) -> RerankedDocuments:
        """Scores 1-256 documents; query and documents hold a visible character each.

        Raises:
            InvalidInput: TEXT_TOO_LONG when the query alone does not fit into the window.
            Overloaded: too many wait; `retry_after` is set.
            DeadlineExceeded, Unavailable: the model does not answer in time, or not at all.
            Internal: it answers something that is no score between 0 and 1, or not one a document.
        """

    async def check(self) -> None:
        """Makes one real request; raises what it raises. A model that is merely busy is up."""

    async def close(self) -> None:
        """Stops what is running."""
