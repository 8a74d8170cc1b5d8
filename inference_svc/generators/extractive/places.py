"""Places in a passage, and the embedder as the extractive generator uses it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Span = tuple[int, int]
Vectors = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Embedding:
    """The embedder as the generator uses it; both give L2-normalised float32 vectors.

    Attributes:
        query: a question -> vector of shape (dimension,).
        texts: n document texts -> matrix of shape (n, dimension).
    """

    query: Callable[[str], Awaitable[Vectors]]
    texts: Callable[[Sequence[str]], Awaitable[Vectors]]
