"""Which tokens belong to each span of a request."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from inference_svc.triton.errors import RequestError


def token_ranges(text: str, offsets: NDArray[np.int64], spans: NDArray[np.int64]) -> NDArray[np.int64]:
    """(spans, 2) token ranges [first, last) of the tokens that share a code point with each span.

    Args:
        text: what the spans lie in.
        offsets: (tokens, 2) code-point ranges, both columns ascending.
        spans: (spans, 2) code-point ranges.

    Raises:
        RequestError: INVALID_SPAN when there is no span, one lies outside the text or holds no visible
            character, or they do not ascend.
    """
    starts, ends = spans[:, 0], spans[:, 1]
    if not len(spans):
        raise RequestError("INVALID_SPAN", "SPANS is empty: leave it out, or name at least one span")
    outside = np.flatnonzero((starts < 0) | (ends <= starts) | (ends > len(text)))
    if outside.size:
        raise RequestError("INVALID_SPAN", f"span {outside[0]} is empty or lies outside the text")
    disordered = np.flatnonzero((np.diff(starts) < 0) | (np.diff(ends) < 0))
    if disordered.size:
        raise RequestError(
            "INVALID_SPAN", f"span {disordered[0] + 1} does not ascend: it begins or ends earlier"
        )
    first = np.searchsorted(offsets[:, 1], starts, side="right")
    last = np.searchsorted(offsets[:, 0], ends, side="left")
    for index, (start, end) in enumerate(spans.tolist()):
        if last[index] <= first[index] or text[start:end].isspace():
            raise RequestError("INVALID_SPAN", f"span {index} holds no text, or only white space")
    return np.stack([first, last], axis=1).astype(np.int64)
