"""python -m benchmarks.fuzz_validator --examples 10000: counts; exit status 1 when a rule breaks."""

from __future__ import annotations

import argparse
import sys
from collections import Counter

from hypothesis import HealthCheck, Phase, given, settings

from benchmarks.fuzz_validator.check import count
from benchmarks.fuzz_validator.outputs import Case, cases


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fuzz_validator")
    parser.add_argument("--examples", type=int, default=10_000, help="outputs to try, >= 1")
    examples = parser.parse_args().examples
    counts: Counter[str] = Counter()
    broken: list[str] = []

    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )
    @given(cases())
    def fuzz(case: Case) -> None:
        broken.extend(f"{rule}: {case.raw[:300]!r}" for rule in count(case, counts))

    fuzz()
    for name, number in counts.items():
        print(f"{number:8d}  {name.replace('_', ' ')}")
    for line in broken[:10]:
        print(line)
    sys.exit(1 if broken else 0)


main()
