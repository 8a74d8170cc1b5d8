"""Errors during a measurement: counted, and too many of them end it."""

from __future__ import annotations

from collections import Counter

from radref.errors import RadrefError, Unavailable

# More failed calls than this and the figures say nothing about the system's answers.
MAX_ERROR_SHARE = 0.05


class ErrorBudget:
    """Counts failed items of a run of `total` items; an abstention is no failure."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._reasons: Counter[str] = Counter()

    def spend(self, error: RadrefError) -> None:
        """Counts one failed item.

        Raises:
            Unavailable: more than 5 % of all items have failed.
        """
        self._reasons[error.reason] += 1
        if self.count > MAX_ERROR_SHARE * self._total:
            raise Unavailable(
                f"Measurement ended: {self.count} of {self._total} calls failed, more than "
                f"{MAX_ERROR_SHARE:.0%} ({self.summary()}). The last message: {error.message}",
                reason=error.reason,
            )

    @property
    def count(self) -> int:
        return self._reasons.total()

    @property
    def reasons(self) -> dict[str, int]:
        """Failures by reason, the most frequent first."""
        return dict(self._reasons.most_common())

    def summary(self) -> str:
        """E.g. "3 x DEADLINE, 1 x INTERNAL"; "" without failures."""
        return ", ".join(f"{count} x {reason}" for reason, count in self._reasons.most_common())
