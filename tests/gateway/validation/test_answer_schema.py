import json
from contextlib import suppress
from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.answering.schema import (
    ANSWER_SCHEMA,
    ANSWER_SCHEMA_JSON,
    AnswerFormatError,
    ParsedAnswer,
    ParsedCitation,
    ParsedConflict,
    ParsedStatement,
    parse_answer,
)

ANSWER = {
    "analysis": "secret thoughts",
    "insufficient": False,
    "missing": "",
    "conflicts": [{"citation_ids": ["a"], "description": "d"}],
    "statements": [{"text": "t", "citations": [{"id": "a", "quote": "q"}]}],
}


def test_schema_is_strict_ordered_and_of_the_parsed_shape() -> None:
    assert list(ANSWER_SCHEMA["properties"]) == [
        "analysis",
        "insufficient",
        "missing",
        "conflicts",
        "statements",
    ]
    assert [field.name for field in fields(ParsedAnswer)] == list(ANSWER_SCHEMA["properties"])[1:]

    def objects(schema: dict) -> list[dict]:
        inner = [*schema.get("properties", {}).values(), *([schema["items"]] if "items" in schema else [])]
        own = [schema] if schema["type"] == "object" else []
        return own + [found for child in inner for found in objects(child)]

    found = objects(ANSWER_SCHEMA)
    assert len(found) == 4
    for schema in found:
        assert schema["additionalProperties"] is False
        assert schema["required"] == list(schema["properties"])
    for schema, shape in (
        (found[1], ParsedConflict),
        (found[2], ParsedStatement),
        (found[3], ParsedCitation),
    ):
        assert list(schema["properties"]) == [field.name for field in fields(shape)]
    assert json.loads(ANSWER_SCHEMA_JSON) == ANSWER_SCHEMA


@pytest.mark.parametrize(
    "wrap",
    [
        "{}",
        '<think>\n{"insufficient": true}\n</think>\n\n{}',
        "```json\n{}\n```",
        "<think></think>```\n{}\n```\n",
        "\ufeff {}",
    ],
)
def test_wrappings_are_taken_off(wrap: str) -> None:
    parsed = parse_answer(wrap.replace("{}", json.dumps(ANSWER)) if wrap != "{}" else json.dumps(ANSWER))
    assert parsed.statements == (ParsedStatement("t", (ParsedCitation("a", "q"),)),)
    assert parsed.conflicts == (ParsedConflict(("a",), "d"),)


def test_control_characters_and_lone_surrogates_cannot_reach_the_wire() -> None:
    parsed = parse_answer('{"insufficient": true, "missing": "a\x01b\nc\\ud800 \\u0000"}')
    assert parsed.missing == "a b\nc\ufffd  "
    parsed.missing.encode()


def test_ids_are_left_as_they_are() -> None:
    answer = {**ANSWER, "statements": [{"text": "t", "citations": [{"id": " A1 ", "quote": "q"}]}]}
    assert parse_answer(json.dumps(answer)).statements[0].citations[0].id == " A1 "


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no json",
        "[]",
        "null",
        '{"insufficient": false}',
        '{"insufficient": "no", "statements": []}',
        '{"insufficient": 0, "statements": []}',
        '{"insufficient": false, "statements": {}}',
        '{"insufficient": false, "statements": [{"text": "t"}]}',
        '{"insufficient": false, "statements": [{"text": 1, "citations": []}]}',
        '{"insufficient": false, "statements": [{"text": "t", "citations": [{"id": 1, "quote": "q"}]}]}',
        '{"insufficient": false, "statements": [',
        "[" * 100_000,
    ],
)
def test_what_is_no_answer_is_refused_without_repeating_it(text: str) -> None:
    with pytest.raises(AnswerFormatError) as caught:
        parse_answer(text)
    assert len(str(caught.value)) < 200


def test_errors_never_repeat_the_output() -> None:
    with pytest.raises(AnswerFormatError) as caught:
        parse_answer(
            '{"insufficient": false, "statements": [{"text": "Ivanov has a tumour", "citations": 5}]}'
        )
    assert "Ivanov" not in str(caught.value)
    assert "statements.0.citations" in str(caught.value)


@given(st.text())
def test_any_text_is_parsed_or_refused(text: str) -> None:
    with suppress(AnswerFormatError):
        parse_answer(text)
