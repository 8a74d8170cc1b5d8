"""Cutting a sequence into consecutive parts at the least total cost."""

from __future__ import annotations

import math
from collections.abc import Callable

from ingest_svc.chunking.ranges import Range


def best_partition(count: int, cost: Callable[[int, int], float | None]) -> list[Range]:
    """The cheapest way to cut items 0..count-1 into consecutive parts [first, stop).

    Args:
        count: number of items, >= 0.
        cost: of the part [first, stop); infinite when that part is not allowed; None when
            neither that part nor any that begins earlier and stops there is allowed. A part of one item must
            have a finite cost.

    Returns:
        The parts in order. Of equally cheap partitions the one with the longer last parts.
    """
    totals = [0.0] + [math.inf] * count
    begins = [0] * (count + 1)
    for stop in range(1, count + 1):
        for first in range(stop - 1, -1, -1):
            part = cost(first, stop)
            if part is None:
                break
            total = totals[first] + part
            if total <= totals[stop] and total < math.inf:
                totals[stop], begins[stop] = total, first
    parts: list[Range] = []
    stop = count
    while stop > 0:
        parts.append((begins[stop], stop))
        stop = begins[stop]
    return parts[::-1]
