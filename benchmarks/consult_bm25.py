"""Paper B's recipe alone: which variant BM25 puts first, and what its gate refuses. No server, no generator.

    python -m benchmarks.consult_bm25 [--kb FILE] [--set FILE] [--gate 2.0]

The ranker is the one of profile `paper` (`retrieval_svc.variant_bm25`), the forms are those of the files in
samples/appropriateness. The paper's own figures, on another base: 25 of 36 variants, 3 of 22 probes refused.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from radref.appropriateness.model import Criteria, Procedure, RadiationLevel, Urgency, Variant
from retrieval_svc.variant_bm25 import VariantBm25

SAMPLES = Path(__file__).parents[1] / "samples" / "appropriateness"
GATE = 2.0


@dataclass(frozen=True, slots=True)
class Item:
    """A scenario or probe; `variant` is the right one, empty = the right answer is none."""

    id: str
    query: str
    variant: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the recipe makes of an item; `ranked` = ids of variants with a score above 0, best first."""

    item: Item
    ranked: list[str]
    score: float
    gate: float

    @property
    def refused(self) -> bool:
        return self.score < self.gate

    @property
    def verdict(self) -> str:
        if self.refused:
            return "refused"
        if not self.item.variant:
            return "answered"
        return "right" if self.ranked[0] == self.item.variant else "wrong"


def variants_of(path: Path) -> list[Variant]:
    base = yaml.safe_load(path.read_text(encoding="utf-8"))
    return [
        Variant(
            id=one["id"],
            topic_id=topic["id"],
            topic_title=topic["title"],
            title=one["title"],
            population=one["population"],
            urgency=Urgency(one["urgency"]),
            criteria=Criteria(),
            keywords=tuple(one["keywords"]),
            narrative=one["narrative"],
            procedures=tuple(
                Procedure(each["id"], each["name"], each["rating"], RadiationLevel(each["rrl"]))
                for each in one["procedures"]
            ),
            kb_version=base["version"],
            synthetic=True,
        )
        for topic in base["topics"]
        for one in topic["variants"]
    ]


def items_of(path: Path) -> tuple[list[Item], list[Item]]:
    """Scenarios and probes."""
    read: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))

    def items(name: str) -> list[Item]:
        return [Item(one["id"], one["query"], one.get("variant", "")) for one in read.get(name) or ()]

    return items("scenarios"), items("probes")


def outcomes(variants: list[Variant], items: list[Item], gate: float) -> list[Outcome]:
    bm25 = VariantBm25(variants)
    found = []
    for item in items:
        scores = bm25.scores(item.query)
        order = [at for at in np.argsort(-scores, kind="stable") if scores[at] > 0]
        best = float(scores[order[0]]) if order else 0.0
        found.append(Outcome(item, [variants[at].id for at in order], best, gate))
    return found


def print_items(name: str, found: list[Outcome]) -> None:
    print(f"\n{name}")
    for one in found:
        top = one.ranked[0] if one.ranked else "-"
        print(f"  {one.item.id:6} {one.score:7.2f}  {one.verdict:8}  {top:24} {one.item.variant or '(none)'}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--kb", type=Path, default=SAMPLES / "kb.yaml")
    parser.add_argument("--set", type=Path, default=SAMPLES / "dev_set.yaml")
    parser.add_argument("--gate", type=float, default=GATE, help="absolute score below which it is refused")
    arguments = parser.parse_args()
    variants = variants_of(arguments.kb)
    scenarios, probes = (outcomes(variants, items, arguments.gate) for items in items_of(arguments.set))
    print(
        f"{len(variants)} variants, gate {arguments.gate}; columns: score, verdict, first variant, right one"
    )
    print_items("scenarios", scenarios)
    print_items("probes", probes)
    out_of_scope = [one for one in probes if not one.item.variant]
    legitimate = [one for one in probes if one.item.variant]
    first = sum(bool(one.ranked) and one.ranked[0] == one.item.variant for one in scenarios)
    print()
    print(f"right variant first       {first}/{len(scenarios)}")
    print(f"  and not refused         {sum(one.verdict == 'right' for one in scenarios)}/{len(scenarios)}")
    print(f"  among the first five    {sum(one.item.variant in one.ranked[:5] for one in scenarios)}")
    print(f"scenarios refused         {sum(one.refused for one in scenarios)}/{len(scenarios)}")
    print(f"probes refused            {sum(one.refused for one in out_of_scope)}/{len(out_of_scope)}")
    print(f"terse ones answered right {sum(one.verdict == 'right' for one in legitimate)}/{len(legitimate)}")


if __name__ == "__main__":
    main()
