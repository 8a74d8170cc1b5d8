"""One request of FRIDA and its answer, as plain values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class EmbedCall:
    """One request.

    Attributes:
        texts: at least one, each with a visible character.
        queries: for each text, whether it is a question (else a document).
        spans: (spans, 2) code-point ranges to pool over; only with one text that is a document.
    """

    texts: Sequence[str]
    queries: Sequence[bool]
    spans: NDArray[np.int64] | None = None


@dataclass(frozen=True, slots=True)
class EmbedAnswer:
    """Vectors of one request.

    Attributes:
        vectors: (texts, 1, dimension) float32, or (1, spans, dimension) where there were spans; L2 norm 1.
        tokens: of each text with prefix and special tokens, before truncation.
        truncated: for each text, whether its end was left out.
    """

    vectors: NDArray[np.float32]
    tokens: Sequence[int]
    truncated: Sequence[bool]
