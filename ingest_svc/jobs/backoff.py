"""How long to wait before the next attempt. Pure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Backoff:
    """Exponential back-off with "equal jitter" (half fixed, half random), so that jobs that failed together
    do not come back together.

    Attributes:
        base_seconds: upper bound of the first delay, > 0.
        cap_seconds: upper bound of every delay, >= base_seconds.
        max_attempts: attempts in a row that may bring nothing new, >= 1.
    """

    base_seconds: float
    cap_seconds: float
    max_attempts: int

    def exhausted(self, fruitless_attempts: int) -> bool:
        """True when the attempt that just failed was the last one."""
        return fruitless_attempts >= self.max_attempts

    def delay(self, fruitless_attempts: int, draw: float, retry_after: float | None = None) -> float:
        """Seconds until the next attempt.

        Args:
            fruitless_attempts: attempts in a row that brought nothing new, >= 0.
            draw: random number in [0, 1).
            retry_after: seconds the backend asked for; the delay is not shorter.
        """
        exponent = min(max(fruitless_attempts, 1) - 1, 32)
        bound = min(self.cap_seconds, self.base_seconds * 2.0**exponent)
        return max(bound * (0.5 + 0.5 * draw), retry_after or 0.0)
