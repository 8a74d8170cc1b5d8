"""What was read of a store and need not be read again."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Kept(dict[K, V], Generic[K, V]):
    """A dictionary of bounded size. Points are immutable and ids are never used again, so nothing gets stale.

    Args:
        capacity: entries that `trim` leaves, >= 1.
    """

    def __init__(self, capacity: int) -> None:
        super().__init__()
        self.capacity = capacity

    def trim(self) -> None:
        """Drops the oldest entries beyond the capacity; what is needed again is read again."""
        while len(self) > self.capacity:
            del self[next(iter(self))]
