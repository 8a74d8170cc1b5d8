"""How much work was asked for lately, against what the places can do: is this a burst or an overload?

A virtual queue (Kunniyur and Srikant, "Analysis and design of an adaptive virtual queue", SIGCOMM 2001):
every call adds the time it is expected to hold a place, a refused one too, and the places work that off. A
queue in front of the places is worth having while a burst passes; in an overload it never empties, and
everybody waits its whole length and gains nothing.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

# Calls of a kind whose mean is the expected time, without the longest tenth, at least one: a neighbour's
# pause holds a call or two for seconds, and must not make every later call count as that long.
_CALLS_KEPT = 20
_LEFT_OUT = 10
# Bound of the virtual queue, in bursts: after an overload the real queue opens again one burst later.
_BURSTS_KEPT = 2.0


class Backlog:
    """The virtual queue before `places` places.

    Args:
        places: calls worked on at once, >= 1.
        burst_seconds: work of all places that may wait and still is a burst, > 0.
        clock: seconds, monotonic.
    """

    def __init__(
        self, places: int, burst_seconds: float, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._places = places
        self._burst = burst_seconds
        self._clock = clock
        self._seconds = 0.0
        self._looked = clock()
        self._times: dict[str, deque[float]] = {}
        self._expected: dict[str, float] = {}

    @property
    def overloaded(self) -> bool:
        """More is asked for than a burst, for longer than it takes to work one off."""
        self._work_off()
        return self._seconds > self._burst

    def asked(self, kind: str) -> None:
        """A call came, whether it will be admitted or not. `kind`: calls of one kind take about as long."""
        self._work_off()
        self._seconds += self._expected.get(kind, 0.0) / self._places
        self._seconds = min(self._seconds, _BURSTS_KEPT * self._burst)

    def took(self, kind: str, seconds: float) -> None:
        """A call of this kind held a place for so long."""
        times = self._times.setdefault(kind, deque(maxlen=_CALLS_KEPT))
        times.append(seconds)
        usual = sorted(times)[: max(1, len(times) - max(1, len(times) // _LEFT_OUT))]
        self._expected[kind] = sum(usual) / len(usual)

    def _work_off(self) -> None:
        now = self._clock()
        self._seconds = max(0.0, self._seconds - (now - self._looked))
        self._looked = now
