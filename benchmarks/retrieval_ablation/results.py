"""What was measured, as rows with figures, and as JSON values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.retrieval_ablation.outcomes import Ranks, differences, figures
from benchmarks.retrieval_ablation.questions import Asked, by_language


@dataclass(frozen=True, slots=True)
class Row:
    """One way to retrieve.

    Attributes:
        ranks: of each question's gold quotes, in the order of the set.
        milliseconds: median processor time of one retrieval without embedding; None where the row was not
            timed with the others.
    """

    group: str
    name: str
    ranks: Sequence[Ranks]
    milliseconds: float | None = None


@dataclass(frozen=True, slots=True)
class SetResult:
    """All rows of a question set.

    Attributes:
        base: the row that others are compared with: profile `default`.
        notes: what a reader must know beside the rows.
    """

    name: str
    documents: int
    parents: int
    children: int
    asked: Sequence[Asked]
    rows: Sequence[Row]
    base: Row
    notes: Sequence[str] = ()

    def hits_at_13(self, row: Row, group: str) -> tuple[int, int]:
        """(Questions of a language pair with a gold quote in the first 13, questions of it)."""
        hits = [
            any(rank is not None and rank <= 13 for rank in ranks)
            for one, ranks in zip(self.asked, row.ranks, strict=True)
            if one.question.language_group == group
        ]
        return sum(hits), len(hits)

    def as_json(self) -> dict[str, Any]:
        """Figures, intervals, differences and the ranks of every question."""
        return {
            "set": self.name,
            "documents": self.documents,
            "parents": self.parents,
            "children": self.children,
            "questions": [one.question.id for one in self.asked],
            "language_pairs": dict(by_language(self.asked)),
            "notes": list(self.notes),
            "base": self.base.name,
            "rows": [
                {
                    "group": row.group,
                    "name": row.name,
                    "milliseconds": row.milliseconds,
                    "figures": {name: asdict(one) for name, one in figures(row.ranks).items()},
                    "difference_from_base": {
                        name: asdict(one) for name, one in differences(row.ranks, self.base.ranks).items()
                    },
                    "ranks": [list(ranks) for ranks in row.ranks],
                }
                for row in self.rows
            ],
        }
