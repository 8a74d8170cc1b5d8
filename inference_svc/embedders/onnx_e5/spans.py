"""Late chunking: token vectors of a text, averaged over spans window by window; see inference_svc.windows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from radref.errors import InvalidInput


def late_chunk_stride(window: int) -> int:
    """Tokens between the starts of neighbouring windows of so many tokens, prefix and special ones included.

    Half a window: every token has at least a quarter of a window of context on both sides.
    """
    return window // 2


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
