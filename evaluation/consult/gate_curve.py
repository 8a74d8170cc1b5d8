"""What the evidence gate alone would do at each threshold of the search score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evaluation.consult.expectations import Expected
from evaluation.consult.item_rows import top_score
from evaluation.consult.run import Observation, Seen


@dataclass(frozen=True, slots=True)
class GateCurve:
    """Best search score of every scenario and of every probe to be refused; 0 where nothing was retrieved."""

    scenarios: tuple[float, ...]
    probes: tuple[float, ...]

    @property
    def thresholds(self) -> tuple[float, ...]:
        """0 and every score, ascending: between two of them nothing changes."""
        return tuple(sorted({0.0, *self.scenarios, *self.probes}))

    def passing(self, threshold: float) -> int:
        """Scenarios that pass: their score is not below the threshold."""
        return sum(score >= threshold for score in self.scenarios)

    def refused(self, threshold: float) -> int:
        """Probes that are refused: their score is below the threshold."""
        return sum(score < threshold for score in self.probes)


def gate_curve(expected: Sequence[Expected], run: Sequence[Seen]) -> GateCurve:
    """The scores of a run; items whose call failed are left out, and terse probes to be answered too."""
    scenarios: list[float] = []
    probes: list[float] = []
    for each, seen in zip(expected, run, strict=True):
        if not isinstance(seen, Observation):
            continue
        if each.item.kind == "scenario":
            scenarios.append(top_score(seen.response))
        elif each.item.expect == "abstain":
            probes.append(top_score(seen.response))
    return GateCurve(tuple(scenarios), tuple(probes))
