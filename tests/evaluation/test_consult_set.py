"""Scenario sets: what is read, and what is refused with its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluation.consult.expectations import expectations
from evaluation.consult.scenario_set import load_scenarios
from radref.appropriateness.kb_file import read_kb
from radref.errors import InvalidInput
from tests.evaluation.eval_fake_consult import kb_file, set_file

SAMPLES = Path(__file__).parents[2] / "samples" / "appropriateness"
SCENARIO = "  - {id: S1, query: fell on the knee, variant: knee-acute, top_procedure: scan-a}"


def test_a_set_is_read_scenarios_first(tmp_path: Path) -> None:
    path = set_file(
        tmp_path,
        "kb: kb.yaml",
        "language: en",
        "tags: [dev]",
        "probes:",
        "  - {id: P1, query: 'What is the capital?', expect: abstain, note: far}",
        "  - {id: P2, query: 'lump?', expect: answer, variant: breast-lump}",
        "scenarios:",
        SCENARIO[2:],
        "- {id: 2, query: no, variant: knee-chronic, top_procedure: no-imaging, tags: [a, b], language: ru}",
    )
    items = load_scenarios(path)
    assert [(item.id, item.kind, item.expect) for item in items] == [
        ("S1", "scenario", "answer"),
        ("2", "scenario", "answer"),
        ("P1", "probe", "abstain"),
        ("P2", "probe", "answer"),
    ]
    # A scalar is its text: the query "no" is no boolean.
    assert (items[1].query, items[1].language, items[1].tags, items[1].line) == ("no", "ru", ("a", "b"), 10)
    assert (items[2].variant, items[3].variant) == ("", "breast-lump")
    expected = expectations(items, read_kb(kb_file(tmp_path)), path.name)
    assert [(each.topic_title, each.top_procedure_name) for each in expected] == [
        ("Knee pain", "Scan of the knee A"),
        ("Knee pain", "No imaging"),
        ("", ""),
        ("Breast lump", ""),
    ]


def test_the_sample_set_fits_the_sample_base() -> None:
    items = load_scenarios(SAMPLES / "dev_set.yaml")
    expected = expectations(items, read_kb(SAMPLES / "kb.yaml"), "dev_set.yaml")
    assert sum(bool(each.top_procedure_name) for each in expected) == 12
    assert sum(item.expect == "abstain" for item in items) == 13


def test_a_set_may_hold_one_kind_only(tmp_path: Path) -> None:
    assert len(load_scenarios(set_file(tmp_path, "scenarios:", SCENARIO))) == 1
    probes = set_file(tmp_path, "scenarios: []", "probes:", "  - {id: P, query: x, expect: abstain, tags: a}")
    assert [item.tags for item in load_scenarios(probes)] == [("a",)]


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        (["scenarios:", SCENARIO, SCENARIO], "line 4: the id S1 repeats, it stands in line 3 too"),
        (
            ["scenarios:", SCENARIO, "probes:", "  - {id: S1, query: x, expect: abstain}"],
            "line 5: the id S1 repeats",
        ),
        (
            ["scenarios:", "  - {id: S1, query: x, variant: v}"],
            "line 3: S1: the key top_procedure is missing",
        ),
        (["scenarios:", "  - {query: x}"], "line 3: an item: the key id is missing"),
        (["scenarios:", "  - id: S1", "    query:", "    variant: v"], "line 4: S1: query must be a text"),
        (["scenarios:", "  - {id: S1, query: ' '}"], "line 3: S1: query must be a text that is not empty"),
        (["scenarios:", "  - {id: S1, query: [x]}"], "line 3: S1: query must be a text"),
        (["scenarios:", f"  - {{id: S1, query: {'x' * 4001}}}"], "line 3: S1: a query has at most 4000"),
        (["scenarios:", "  - id: S1", "    weight: 2"], "line 4: S1: unknown key weight; known are id,"),
        (["scenarios:", "  - id: S1", "    id: S2"], "line 4: the key id repeats"),
        (["scenarios:", "  - just text"], "line 3: a scenario is expected to be a mapping"),
        (["scenarios: {}"], "line 2: scenarios is expected to be a list"),
        (["probes:", "  - {id: P, query: x, expect: maybe}"], "P: expect is answer or abstain, not maybe"),
        (["probes:", "  - {id: P, query: x, expect: answer}"], "line 3: P: the key variant is missing"),
        (["probes:", "  - {id: P, query: x, expect: abstain, variant: v}"], "line 3: P: no variant answers"),
        (["probes: []"], "holds neither scenarios nor probes"),
        (["questions: []"], "line 2: the set: unknown key questions"),
        (["scenarios: [", "x: 1"], "line 4: expected"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(tmp_path: Path, lines: list[str], says: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        load_scenarios(set_file(tmp_path, *lines))
    assert says in caught.value.message
    assert "set.yaml" in caught.value.message
    assert caught.value.field == "set"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "is empty"),
        ("- a list\n", "line 1: the set is expected to be a mapping"),
        ("schema: appropriateness-eval/2\nprobes: []\n", "line 1: the schema appropriateness-eval/2 is not"),
        ("probes: []\n", "line 1: the set: the key schema is missing"),
    ],
)
def test_another_file_is_no_set(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "set.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InvalidInput, match=says):
        load_scenarios(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"absent\.yaml"):
        load_scenarios(tmp_path / "absent.yaml")


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{id: S9, query: x, variant: hip, top_procedure: scan-a}", "line 3: S9 expects the variant hip"),
        (
            "{id: S9, query: x, variant: knee-chronic, top_procedure: scan-a}",
            "line 3: S9 expects the procedure scan-a, which the variant knee-chronic does not rate",
        ),
    ],
)
def test_a_set_must_fit_its_base(tmp_path: Path, line: str, says: str) -> None:
    items = load_scenarios(set_file(tmp_path, "scenarios:", f"  - {line}"))
    with pytest.raises(InvalidInput, match=says):
        expectations(items, read_kb(kb_file(tmp_path)), "set.yaml")
