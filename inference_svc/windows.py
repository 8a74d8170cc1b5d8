"""Late chunking (Günther et al. 2024, arXiv:2409.04701): which tokens of a long text are read together.

A text longer than the encoder's window goes through it in overlapping windows. Each token takes its vector
from one window only, the one in which it stands further from a cut: where two windows overlap, the first
half belongs to the earlier one and the second half to the later one.

Standard library only: it is used in this service and inside Triton, where radref's dependencies are absent.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Window:
    """Tokens [start, end) are encoded together; the vectors of [own_start, own_end) are taken from it."""

    start: int
    end: int
    own_start: int
    own_end: int


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
