"""Attempts at a request that a server may fail for a moment only."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from inference_svc.model_server.failure import Failed

# A person waits for the answer: who cannot be served within this pause is told when to come back.
LONGEST_PAUSE_SECONDS = 5.0

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Retry:
    """How often a request is sent, and the pauses between.

    Attributes:
        attempts: how often at most, 1 or more.
        first_pause: seconds before the second attempt, > 0; each later pause is twice as long, half of each
            is drawn by lot so that callers do not come back in step ("equal jitter": M. Brooker, Exponential
            Backoff and Jitter, AWS 2015).
    """

    attempts: int
    first_pause: float

    async def run(self, attempt: Callable[[], Awaitable[T]], deadline: float) -> T:
        """What an attempt returns that did not fail.

        Args:
            attempt: sends the request once; raises Failed.
            deadline: loop time by which the answer is due.

        Raises:
            RadrefError: what the last attempt ended in.
        """
        tried = 0
        while True:
            tried += 1
            try:
                return await attempt()
            except Failed as failed:
                await self.pause(failed, tried, deadline)

    async def pause(self, failed: Failed, tried: int, deadline: float) -> None:
        """Waits before another attempt.

        Args:
            failed: what the last attempt ended in.
            tried: attempts so far, 1 or more.
            deadline: loop time by which the answer is due.

        Raises:
            RadrefError: `failed.error`, when another attempt is not allowed or would come too late.
        """
        if not failed.passing or tried >= self.attempts:
            raise failed.error from None
        pause = min(LONGEST_PAUSE_SECONDS, self.first_pause * 2 ** (tried - 1)) * random.uniform(0.5, 1.0)
        if failed.wait is not None:
            pause = max(pause, failed.wait)
        if pause > LONGEST_PAUSE_SECONDS or asyncio.get_running_loop().time() + pause >= deadline:
            raise failed.error from None
        await asyncio.sleep(pause)
