"""Whether the evidence for an answer is enough: a weighted sum that must reach a bound.

A logistic regression whose weights may only speak in the direction that makes sense (more words covered, a
nearer sentence, no unknown name), fitted and cross-validated by `benchmarks/extractive_fit`. Everything in it
is a share or counted in standard deviations, so no embedder's own range of cosines is in it.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Evidence:
    """What speaks for and against the best unit of the chosen passage.

    Attributes:
        coverage: share of the question's words, by rarity, that it holds with its headings and title, 0-1;
            None across scripts, where words say nothing.
        cosine: standard deviations above the mean of the units compared.
        unknown: the question has a name or a field strength that no passage knows.
        far: how much the unit nearest to the question scores above it, >= 0: what is nearest does not hold
            what is asked.
        quantity: a kind of quantity is asked for: such a number stands in many a passage, so the rest must
            tell that it is the right one.
    """

    coverage: float | None
    cosine: float
    unknown: bool
    far: float
    quantity: bool


@dataclass(frozen=True, slots=True)
class Confidence:
    """Weights of the evidence, each >= 0, and the bound.

    Fitted 2026-12-01 on the development questions (68 answerable, 44 not), embedder fingerprint
    cdd7c716c592870f; out of fold 7 % of the answerable ones are refused and 53 % of the others,
    9 % and 61 % one step further (docs/answering.md).

    Attributes:
        coverage, typical_coverage: weight, and what is taken across scripts.
        cosine: weight per standard deviation.
        unknown, far, quantity: taken off; per point of score for `far`.
        bound: below it the answer is "not found".
    """

    coverage: float = 1.47
    typical_coverage: float = 0.25
    cosine: float = 0.485
    unknown: float = 1.6
    far: float = 1.82
    quantity: float = 1.2
    bound: float = -0.5

    def score(self, evidence: Evidence) -> float:
        """The weighted sum; only its order and the bound mean something."""
        coverage = self.typical_coverage if evidence.coverage is None else evidence.coverage
        return (
            self.coverage * coverage
            + self.cosine * evidence.cosine
            - self.unknown * evidence.unknown
            - self.far * evidence.far
            - self.quantity * evidence.quantity
        )

    def enough(self, evidence: Evidence) -> bool:
        """Whether to answer."""
        return self.score(evidence) >= self.bound
