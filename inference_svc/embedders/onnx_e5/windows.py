"""Late chunking (Günther et al. 2024, arXiv:2409.04701): token vectors of a whole text, averaged over spans.

A text longer than the encoder's window goes through it in overlapping windows. Each token takes its vector
from one window only, the one in which it stands further from a cut: where two windows overlap, the first
half belongs to the earlier one and the second half to the later one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from radref.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class Window:
    """Tokens [start, end) are encoded together; the vectors of [own_start, own_end) are taken from it."""

    start: int
    end: int
    own_start: int
    own_end: int


def late_chunk_stride(window: int) -> int:
    """Tokens between the starts of neighbouring windows of so many tokens, prefix and special ones included.

    Half a window: every token has at least a quarter of a window of context on both sides.
    """
    return window // 2


def windows(tokens: int, capacity: int, stride: int) -> list[Window]:
    """Windows that cover `tokens` tokens; the owned ranges partition them in order.

    Args:
        tokens: >= 1.
        capacity: tokens a window holds, > stride.
        stride: tokens between the starts of neighbouring windows, >= 1.
    """
    starts = [0]
    while starts[-1] + capacity < tokens:
        starts.append(starts[-1] + stride)
    ends = [min(start + capacity, tokens) for start in starts]
    cuts = [0, *((start + end) // 2 for start, end in zip(starts[1:], ends, strict=False)), tokens]
    return [Window(start, ends[i], cuts[i], cuts[i + 1]) for i, start in enumerate(starts)]


def token_ranges(
    offsets: NDArray[np.int64], spans: Sequence[tuple[int, int]], text_index: int
) -> NDArray[np.int64]:
    """(spans, 2) token ranges [first, last) of the tokens that share a code point with each span.

    Args:
        offsets: (tokens, 2) code-point ranges, ascending.
        spans: [start, end) in code points.
        text_index: position of the text in its request, for the error.

    Raises:
        InvalidInput: INVALID_SPAN when a span holds no token.
    """
    # Where one character became several tokens they share its range, so both columns ascend, not strictly.
    edges = np.asarray(spans, np.int64).reshape(-1, 2)
    first = np.searchsorted(offsets[:, 1], edges[:, 0], side="right")
    last = np.searchsorted(offsets[:, 0], edges[:, 1], side="left")
    empty = np.flatnonzero(last <= first)
    if empty.size:
        raise InvalidInput(
            "this span holds no text, or only white space",
            reason="INVALID_SPAN",
            field=f"spans.texts[{text_index}].spans[{empty[0]}]",
        )
    return np.stack([first, last], axis=1).astype(np.int64)


class SpanSums:
    """Sums of token vectors over token ranges, fed window by window so that a long text needs little memory.

    Not thread-safe: one thread at a time.

    Args:
        ranges: (spans, 2) token ranges.
        dimension: length of a token vector.
    """

    def __init__(self, ranges: NDArray[np.int64], dimension: int) -> None:
        self._ranges = ranges
        self._sums = np.zeros((len(ranges), dimension), np.float64)

    def add(self, first_token: int, vectors: NDArray[np.float32]) -> None:
        """Adds the vectors of the tokens from `first_token` on, (tokens, dimension)."""
        count, dimension = vectors.shape
        low = np.clip(self._ranges[:, 0] - first_token, 0, count)
        high = np.clip(self._ranges[:, 1] - first_token, 0, count)
        touched = high > low
        if touched.any():
            running = np.zeros((count + 1, dimension), np.float64)
            np.cumsum(vectors, axis=0, dtype=np.float64, out=running[1:])
            self._sums[touched] += running[high[touched]] - running[low[touched]]

    def means(self) -> NDArray[np.float64]:
        """(spans, dimension) mean token vectors, not normalised."""
        means: NDArray[np.float64] = self._sums / (self._ranges[:, 1] - self._ranges[:, 0])[:, None]
        return means
