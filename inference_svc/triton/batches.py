"""Groups token sequences into small batches of similar length."""

from __future__ import annotations

from collections.abc import Sequence


def length_sorted_batches(lengths: Sequence[int], max_tokens: int) -> list[list[int]]:
    """Indices grouped so that a batch, padded to its longest member, holds at most `max_tokens`.

    A sequence longer than `max_tokens` is a batch of its own. Every index occurs once.

    Args:
        lengths: tokens of each sequence, >= 1.
        max_tokens: padded tokens of a batch, >= 1.
    """
    batches: list[list[int]] = []
    current: list[int] = []
    for index in sorted(range(len(lengths)), key=lengths.__getitem__):
        # Ascending order: the newcomer is the longest, so it sets the padded width.
        if current and lengths[index] * (len(current) + 1) > max_tokens:
            batches.append(current)
            current = []
        current.append(index)
    if current:
        batches.append(current)
    return batches
