"""python -m benchmarks.contradictions [PAIRS.yaml]: precision and recall of both halves, exact intervals."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from benchmarks.contradictions.pairs import Pair, read_pairs
from benchmarks.contradictions.score import Score, score

DEFAULT = Path(__file__).parents[2] / "tests" / "gateway" / "contradictions" / "pairs.yaml"


def main() -> None:
    pairs = read_pairs(Path(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT)
    halves: dict[str, Iterable[Pair]] = {
        half: [pair for pair in pairs if pair.half == half] for half in ("dev", "held_out")
    }
    for half, members in halves.items():
        show(half, score(members))


def show(half: str, result: Score) -> None:
    print(f"{half}: {result.differing} pairs that contradict, {result.others} that do not")
    print(f"  precision {result.precision}   reported by mistake: {', '.join(result.false_alarms) or 'none'}")
    print(f"  recall    {result.recall}   missed: {', '.join(result.missed) or 'none'}")
    print(f"  newer side told right: {result.newer_right} of {result.hits}")


main()
