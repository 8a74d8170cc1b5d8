"""Sentences, items and rows that mislead without their condition, header or negation: what is shown instead.

Every statement must also pass the gateway's validator: what was added is quoted, not written.
"""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from gateway.answering.schema import parse_answer
from gateway.validation import PassageText, ValidationPolicy, validate
from inference_svc.generators.extractive.compose import compose, drop_contained
from inference_svc.generators.extractive.units import read_passage
from inference_svc.generators.generator import Grounding

CASES: list[dict[str, Any]] = yaml.safe_load(
    (Path(__file__).parent / "misleading_sentences.yaml").read_text(encoding="utf-8")
)


def test_there_are_at_least_thirty() -> None:
    assert len(CASES) >= 30
    assert len({case["name"] for case in CASES}) == len(CASES)


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_what_governs_is_shown(case: dict[str, Any]) -> None:
    text = case["text"]
    read = read_passage(Grounding("c1", "Code of practice", (), text, ()), 0)
    units = [unit for unit in read.units if case["unit"] in text[slice(*unit.span)]]
    assert units, [text[slice(*unit.span)] for unit in read.units]
    quoted = compose(read, min(units, key=lambda unit: unit.span[1] - unit.span[0]))
    for piece in case["shown"]:
        assert piece in quoted.text
    for piece in case.get("hidden", ()):
        assert piece not in quoted.text
    citations = [{"id": "c1", "quote": text[start:end]} for start, end in drop_contained(quoted.spans)]
    answer = {"insufficient": False, "statements": [{"text": quoted.text, "citations": citations}]}
    passages = {"c1": PassageText(text, (), "Code of practice")}
    result = validate(parse_answer(json.dumps(answer)), passages, ValidationPolicy())
    assert [kept.text for kept in result.statements] == [quoted.text], result.counts
    assert result.counts.citations_misquoted == 0, citations
    assert result.counts.statements_flagged == 0
