"""How late the event loop wakes up, readable from other threads while it is stuck."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

# Longer than the usual 15-30 s between two scrapes, so that no peak falls between them.
WINDOW_SECONDS = 60.0


class LoopLag:
    """The largest lateness of the last minute, also of a wake-up that is due and has not come.

    Args:
        clock: monotonic seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._due: float | None = None
        # Moment and lateness, seconds.
        self._late: deque[tuple[float, float]] = deque()

    def sleeping(self, seconds: float) -> None:
        """Called before the loop sleeps so long."""
        self._due = self._clock() + seconds

    def woke(self) -> None:
        """Called when it has woken up."""
        now = self._clock()
        self._late.append((now, self._overdue(now)))
        self._due = None
        while self._late[0][0] < now - WINDOW_SECONDS:
            self._late.popleft()

    def seconds(self) -> float:
        """The figure, seconds >= 0. Safe to call from any thread."""
        # One step for the interpreter: the loop's thread may append meanwhile.
        late = tuple(self._late)
        return max(self._overdue(self._clock()), *(lateness for _, lateness in late), 0.0)

    def _overdue(self, now: float) -> float:
        due = self._due
        return 0.0 if due is None else max(0.0, now - due)
