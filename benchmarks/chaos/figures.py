"""What callers saw of a fault."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.chaos.faults import Outage
from benchmarks.live.calls import Call


@dataclass(frozen=True, slots=True)
class Seen:
    """Of one kind of call.

    Attributes:
        calls: that ended between the fault and the end of the observation.
        failed: by "CODE REASON", the most frequent first.
        slowest_ms: of the answered ones; None = none was answered.
        lasted: seconds from the fault to the end of the last call that failed; 0 = none did.
        recovery: seconds from the service being back to that end; 0 = none failed after it.
    """

    calls: int
    failed: dict[str, int]
    slowest_ms: float | None
    lasted: float
    recovery: float


def seen(calls: Sequence[Call], outage: Outage, until: float) -> dict[str, Seen]:
    """By kind of call.

    `until`: when the next fault began, seconds on the clock of perf_counter; infinite for the last fault.
    What is under way then belongs to the next.
    """
    kinds = sorted({call.kind for call in calls})
    touched = [call for call in calls if outage.began < call.ended <= until]
    return {kind: _seen([call for call in touched if call.kind == kind], outage) for kind in kinds}


def _seen(calls: Sequence[Call], outage: Outage) -> Seen:
    failed = [call for call in calls if call.code != "OK"]
    answered = [call.milliseconds for call in calls if call.code == "OK"]
    last = max((call.ended for call in failed), default=outage.began)
    return Seen(
        calls=len(calls),
        failed=dict(Counter(f"{call.code} {call.reason}" for call in failed).most_common()),
        slowest_ms=max(answered, default=None),
        lasted=last - outage.began,
        recovery=max(0.0, last - outage.back) if failed else 0.0,
    )
