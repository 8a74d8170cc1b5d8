"""What is read off a language model's output, whatever it looks like."""

from __future__ import annotations

import json

import pytest

from gateway.answering.schema import AnswerFormatError
from gateway.consult.contract import SCHEMA_JSON, checked
from gateway.consult.result import CitedVariant
from tests.gateway.consult.consult_kit import base, best_of, chooses, citation

CANDIDATES = {citation(one.id): CitedVariant(one, citation(one.id)) for one in base()}
NAME, CITED = best_of("headache-thunderclap")
GOOD = chooses((NAME, CITED))


@pytest.mark.parametrize(
    "output",
    [
        GOOD,
        f"<think>Which one? {{maybe}} {CITED}</think>\n{GOOD}",
        f"Thoughts a server left without their opening.</think>{GOOD}",
        f"```json\n{GOOD}\n```",
        f"<think>\n</think>\n\n```\n{GOOD}\n```\n",
        f"Here it is: {GOOD}\nThat is all.",
        json.dumps(json.loads(GOOD), indent=2),
        GOOD.replace("secret thoughts", "a raw\nline break"),
        GOOD.replace('"insufficient_evidence"', '"more": 1, "insufficient_evidence"'),
    ],
)
def test_what_stands_around_the_object_is_no_matter(output: str) -> None:
    read = checked(output, CANDIDATES)
    assert (read.insufficient, read.variants, read.counts.citations_valid) == (False, (CITED,), 1)


@pytest.mark.parametrize(
    "output",
    [
        "",
        "CT head",
        "<think>only thoughts {}",
        GOOD[:-1],
        f"{GOOD} {GOOD}",
        "[]",
        "{}",
        '{"insufficient_evidence": "no", "recommendations": []}',
        '{"insufficient_evidence": false}',
        '{"insufficient_evidence": false, "recommendations": {}}',
        '{"recommendations": []}',
        "{" * 5000 + "}" * 5000,
        '{"recommendations": ' + "[" * 20_000 + "]" * 20_000 + "}",
        '{"analysis": "' + "a" * 50_000 + '"}',
    ],
    ids=lambda output: output[:30],
)
def test_what_is_not_of_the_shape_is_refused_without_being_repeated(output: str) -> None:
    with pytest.raises(AnswerFormatError) as refused:
        checked(output, CANDIDATES)
    assert "CT head" not in str(refused.value)
    assert len(str(refused.value)) < 100


@pytest.mark.parametrize(
    "item",
    [None, 1, "x", [], {}, {"procedure": NAME}, {"citation_id": CITED}]
    + [{"procedure": name, "citation_id": CITED} for name in (None, 1, [], [NAME], {}, True)]
    + [{"procedure": NAME, "citation_id": cited} for cited in (None, 1, [], [CITED], {}, True)],
    ids=str,
)
def test_items_of_any_other_kind_are_stripped(item: object) -> None:
    output = json.dumps({"insufficient_evidence": False, "recommendations": [item]})
    read = checked(output, CANDIDATES)
    assert (read.variants, read.counts.citations_valid) == ((), 0)
    assert read.counts.citations_unknown + read.counts.citations_misquoted == 1


def test_each_variant_is_there_once_in_the_order_of_the_output() -> None:
    second = best_of("lbp-cauda-equina")
    read = checked(chooses(second, (NAME, CITED), second), CANDIDATES)
    assert read.variants == (second[1], CITED)
    assert read.counts.citations_valid == 3


def test_the_schema_is_strict() -> None:
    schema = json.loads(SCHEMA_JSON)
    assert schema["additionalProperties"] is False
    assert schema["required"] == list(schema["properties"])
    assert next(iter(schema["properties"])) == "analysis", "thinking comes before deciding"
