"""The selector over every set of scenarios in samples/, without services.

The counts are those reached so far; fewer is a step back. A wrong variant, or
a probe that is answered, fails at once.
"""

from pathlib import Path

import pytest
import yaml

from gateway.consult.judgement import judge_all
from gateway.consult.prepared import Prepared, prepared
from gateway.consult.scenario import read_scenario
from gateway.consult.selection import select
from gateway.consult.terminology.load import load_terminology
from radref.appropriateness.kb_file import read_kb

SAMPLES = Path("samples/appropriateness")
# Base, set, scenarios at least right, terse probes at least answered.
SETS = [
    ("kb.yaml", "dev_set.yaml", 12, 2),
    ("kb.yaml", "practice_set.yaml", 36, 5),
    ("kb.yaml", "practice_set_2.yaml", 35, 5),
    ("kb.yaml", "practice_set_3.yaml", 22, 5),
    ("kb.yaml", "practice_set_4.yaml", 33, 5),
    ("kb.yaml", "practice_set_5.yaml", 36, 5),
    ("kb.yaml", "practice_set_6.yaml", 35, 5),
    ("kb.yaml", "practice_set_7.yaml", 25, 4),
    ("kb.yaml", "held_out_set.yaml", 33, 4),
    ("kb.yaml", "russian_set.yaml", 12, 1),
    ("second_kb.yaml", "second_practice_set.yaml", 24, 3),
    ("second_kb.yaml", "second_practice_set_2.yaml", 22, 2),
    ("second_kb.yaml", "second_practice_set_3.yaml", 18, 2),
    ("second_kb.yaml", "second_practice_set_4.yaml", 10, 2),
    ("second_kb.yaml", "second_russian_set.yaml", 5, 1),
]


def variants_of(base: str) -> tuple[Prepared, ...]:
    terminology = load_terminology()
    return tuple(prepared(variant, variant.id, terminology) for variant in read_kb(SAMPLES / base).variants)


def chosen(query: str, variants: tuple[Prepared, ...]) -> str:
    terminology = load_terminology()
    selection = select(judge_all(variants, read_scenario(query, terminology), terminology))
    return selection.chosen.prepared.variant.id if selection.chosen else ""


@pytest.mark.parametrize(("base", "name", "right", "answered"), SETS, ids=[one[1] for one in SETS])
def test_a_set(base: str, name: str, right: int, answered: int) -> None:
    variants = variants_of(base)
    items = yaml.safe_load((SAMPLES / name).read_text("utf-8"))
    wrong = []
    counts = {"right": 0, "answered": 0}
    for kind, key in (("scenarios", "right"), ("probes", "answered")):
        for item in items[kind]:
            expected = item["variant"] if item.get("expect", "answer") == "answer" else ""
            given = chosen(item["query"], variants)
            if given and given != expected:
                wrong.append((item["id"], expected, given))
            counts[key] += bool(given) and given == expected
    assert wrong == []
    assert counts["right"] >= right
    assert counts["answered"] >= answered
