"""How often one caller may call: a bucket of tokens for each, refilled at a steady rate.

Own code, small: the library at hand (limits) counts on the wall clock and starts a thread hop a call.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from radref.errors import Overloaded
from radref.service.metrics import RATE_LIMITED

# Callers remembered at once; the one that was quiet longest is forgotten, which only fills its bucket.
MAX_CALLERS = 10_000


@dataclass(slots=True)
class _Bucket:
    tokens: float
    at: float


class RateLimit:
    """Limits each caller on its own. Counts in this process: two replicas allow twice as much.

    Args:
        calls_per_minute: rate in the long run, > 0.
        burst: calls at once after a pause, >= 1.
        clock: monotonic seconds.
    """

    def __init__(
        self, calls_per_minute: float, burst: int, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._rate = calls_per_minute / 60
        self._burst = float(burst)
        self._clock = clock
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()

    def take(self, caller: str) -> None:
        """Counts one call.

        Raises:
            Overloaded: RATE_LIMITED; `retry_after` is when the next call is allowed.
        """
        now = self._clock()
        bucket = self._buckets.setdefault(caller, _Bucket(self._burst, now))
        self._buckets.move_to_end(caller)
        if len(self._buckets) > MAX_CALLERS:
            self._buckets.popitem(last=False)
        bucket.tokens = min(self._burst, bucket.tokens + (now - bucket.at) * self._rate)
        bucket.at = now
        if bucket.tokens < 1:
            RATE_LIMITED.inc()
            raise Overloaded(
                "you are calling too often",
                reason="RATE_LIMITED",
                retry_after=(1 - bucket.tokens) / self._rate,
            )
        bucket.tokens -= 1
