"""How often one caller may call."""

from __future__ import annotations

import math
import time

from limits import RateLimitItemPerMinute
from limits.storage import MemoryStorage
from limits.strategies import MovingWindowRateLimiter

from radref.errors import Overloaded
from radref.service.metrics import RATE_LIMITED


class RateLimit:
    """Calls of each caller in the last minute, counted in this process.

    Args:
        calls_per_minute: >= 1. With several replicas a caller has so many at each.
    """

    def __init__(self, calls_per_minute: int) -> None:
        self._item = RateLimitItemPerMinute(calls_per_minute)
        self._limiter = MovingWindowRateLimiter(MemoryStorage())

    def take(self, caller: str) -> None:
        """Counts a call.

        Raises:
            Overloaded: RATE_LIMITED, with the time after which there is room again.
        """
        if self._limiter.hit(self._item, caller):
            return
        RATE_LIMITED.inc()
        reset = self._limiter.get_window_stats(self._item, caller).reset_time
        raise Overloaded(
            f"more than {self._item.amount} calls in a minute: slow down",
            reason="RATE_LIMITED",
            metadata={"limit": str(self._item.amount)},
            retry_after=float(max(1, math.ceil(reset - time.time()))),
        )
