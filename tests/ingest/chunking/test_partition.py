from __future__ import annotations

import math
from itertools import combinations, pairwise

from hypothesis import given
from hypothesis import strategies as st

from ingest_svc.chunking.partition import best_partition


def test_nothing() -> None:
    assert best_partition(0, lambda first, stop: 1.0) == []


@given(st.lists(st.integers(1, 9), min_size=1, max_size=9), st.integers(9, 30))
def test_is_as_cheap_as_the_best_of_all(sizes: list[int], limit: int) -> None:
    def cost(first: int, stop: int) -> float | None:
        size = sum(sizes[first:stop])
        if size > limit:
            return None
        return math.inf if stop - first == 2 else 1 + (limit - size) ** 2 / 100

    def total(parts: list[tuple[int, int]]) -> float:
        costs = [cost(first, stop) for first, stop in parts]
        return math.inf if None in costs else sum(c for c in costs if c is not None)

    found = best_partition(len(sizes), cost)
    assert [i for first, stop in found for i in range(first, stop)] == list(range(len(sizes)))
    every = (
        list(pairwise((0, *cuts, len(sizes))))
        for count in range(len(sizes))
        for cuts in combinations(range(1, len(sizes)), count)
    )
    assert math.isclose(total(found), min(total(parts) for parts in every))
