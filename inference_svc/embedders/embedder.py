"""What the service needs of an embedder, whichever model or backend stands behind it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class EmbedderDescription:
    """What callers must know of a model.

    Attributes:
        id: model id, e.g. "multilingual-e5-small".
        backend: what runs it, e.g. "onnx".
        fingerprint: 16 hexadecimal digits; changes whenever weights, tokenizer, prefixes or pooling do.
        dimension: length of the vectors.
        window: tokens read at once, prefix and special tokens included.
        query_prefix, document_prefix: text put before a question or a document.
        document_overhead: tokens that document prefix and special tokens take of the window.
        tokenizer: 16 hexadecimal digits; models with the same value count tokens alike.
    """

    id: str
    backend: str
    fingerprint: str
    dimension: int
    window: int
    query_prefix: str
    document_prefix: str
    document_overhead: int
    tokenizer: str


@dataclass(frozen=True, slots=True)
class EmbeddedTexts:
    """Vectors of n texts.

    Attributes:
        vectors: (n, dimension) float32, L2 norm 1.
        token_counts: n counts with prefix and special tokens, before truncation.
        truncated: n flags, true where the end of the text did not fit into the window.
        fingerprint: of the model that made the vectors.
        compute_seconds: the model worked on them, see EmbedResponse in inference.proto; 0 = not known.
    """

    vectors: NDArray[np.float32]
    token_counts: Sequence[int]
    truncated: Sequence[bool]
    fingerprint: str
    compute_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class SpannedText:
    """A text and the spans to pool over.

    Attributes:
        text: holds a visible character.
        spans: [start, end) in code points, 0 <= start < end <= len(text), at least one; starts and ends
            ascend, neighbours may overlap.
    """

    text: str
    spans: Sequence[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class EmbeddedSpans:
    """Vectors of the spans of one text.

    Attributes:
        vectors: (spans, dimension) float32, L2 norm 1.
        token_count: tokens of the whole text with prefix and special tokens.
        fingerprint: of the model that made the vectors.
    """

    vectors: NDArray[np.float32]
    token_count: int
    fingerprint: str


@dataclass(frozen=True, slots=True)
class LateChunked:
    """Vectors of the spans of n texts.

    Attributes:
        texts: in the order of the request.
        compute_seconds: as in EmbeddedTexts, for all texts together.
    """

    texts: Sequence[EmbeddedSpans]
    compute_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class TokenizedText:
    """Tokens of one text, without prefix and special tokens.

    Attributes:
        count: tokens, >= 0.
        offsets: (count, 2) int64, [start, end) in code points of the text as it was given; None unless
            asked for. Leading white space is not part of a token, unless the token is nothing else.
    """

    count: int
    offsets: NDArray[np.int64] | None


class Embedder(Protocol):
    """Texts to unit vectors. Methods may be called concurrently; work is queued inside.

    Every embed method raises Overloaded (with retry_after) when its queue is full, Internal when the model
    yields vectors that are not finite or of another length than described, DeadlineExceeded when a remote
    model does not answer in time, and Unavailable when it does not answer at all or once it is closed.
    """

    @property
    def id(self) -> str:
        """Id by which a request picks it."""

    @property
    def description(self) -> EmbedderDescription:
        """What callers must know of the model.

        Raises:
            Unavailable: NOT_READY while a remote model has never answered.
        """

    async def check(self) -> None:
        """Makes one real request; raises what it raises. A model that is merely busy is up."""

    async def close(self) -> None:
        """Waits for what is running; whatever waits or comes later fails with Unavailable."""

    async def embed_queries(self, texts: Sequence[str]) -> EmbeddedTexts:
        """Questions to vectors; goes before documents in the queue. Each text holds a visible character."""

    async def embed_documents(self, texts: Sequence[str], *, urgent: bool = False) -> EmbeddedTexts:
        """Documents to vectors. Each text holds a visible character.

        Args:
            urgent: a person waits for it: queued with the questions.
        """

    async def embed_spans(self, texts: Sequence[SpannedText]) -> LateChunked:
        """Late chunking: a text goes through the encoder once, its token vectors are averaged over each span.

        Prefix and special tokens belong to no span, so the span of a whole text is not quite its document
        vector. Nothing is truncated: texts longer than the window are read in overlapping windows.

        Raises:
            InvalidInput: INVALID_SPAN when no token stands in a span.
        """

    async def tokenize(self, texts: Sequence[str], *, want_offsets: bool) -> list[TokenizedText]:
        """Counts, and offsets when asked for, of each text."""
