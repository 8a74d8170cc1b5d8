"""Statements of an output that is still being written."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.answering.reader import AnswerReader
from gateway.answering.schema import MAX_STATEMENTS, AnswerFormatError, ParsedStatement, parse_answer

STATEMENT = {"text": "Предел — 20 мЗв.", "citations": [{"id": "a" * 20, "quote": "20 мЗв"}]}


def output(*statements: object, **more: object) -> str:
    answer = {"analysis": 'a "{" b', "insufficient": False, "missing": "", "conflicts": [], **more}
    return json.dumps({**answer, "statements": list(statements)}, ensure_ascii=False)


def fed(text: str, step: int = 1) -> tuple[AnswerReader, list[tuple[int, ParsedStatement]]]:
    """The reader after `text`, and each statement with the number of characters it came after."""
    reader = AnswerReader()
    early: list[tuple[int, ParsedStatement]] = []
    for start in range(0, len(text), step):
        early += [(start + step, statement) for statement in reader.feed(text[start : start + step])]
    return reader, early


def test_a_statement_comes_with_its_closing_brace() -> None:
    text = output(STATEMENT, STATEMENT)
    reader, early = fed(text)
    first = text.index("]}", text.index("statements")) + 2
    assert early[0][0] == first
    assert [statement for _, statement in early] == list(reader.finish().statements)


@pytest.mark.parametrize("before", ["", "\ufeff", "```json\n", '<think>{"statements": [1]}</think>\n', " \n"])
def test_what_stands_before_the_object_is_passed_over(before: str) -> None:
    text = before + output(STATEMENT) + ("\n```" if "`" in before else "")
    reader, early = fed(text, step=3)
    assert len(early) == 1
    assert reader.finish() == parse_answer(text)


def test_output_that_only_the_tolerant_reader_understands_comes_at_the_end() -> None:
    text = output(STATEMENT).replace("20 мЗв.", "20\nмЗв.")  # a raw line break inside a string
    reader, early = fed(text)
    assert early == []
    assert len(reader.finish().statements) == 1


def test_a_second_list_of_statements_takes_nothing_back_silently() -> None:
    other = {**STATEMENT, "text": "Something else."}
    text = output(STATEMENT)[:-1] + ', "statements": ' + json.dumps([other]) + "}"
    reader, early = fed(text)
    assert early
    with pytest.raises(AnswerFormatError, match="twice"):
        reader.finish()


@pytest.mark.parametrize("bad", [1, None, {"text": 1, "citations": []}, {"text": "x"}, [STATEMENT]])
def test_an_item_of_the_wrong_shape_ends_the_early_reading(bad: object) -> None:
    reader, early = fed(output(STATEMENT, bad, STATEMENT))
    assert len(early) == 1
    with pytest.raises(AnswerFormatError):
        reader.finish()


def test_no_more_statements_than_the_schema_allows() -> None:
    reader, early = fed(output(*[STATEMENT] * (MAX_STATEMENTS + 3)), step=50)
    assert len(early) == MAX_STATEMENTS
    with pytest.raises(AnswerFormatError):
        reader.finish()


@given(st.text(max_size=300), st.integers(1, 40))
def test_any_text_is_read_or_refused(text: str, step: int) -> None:
    reader, early = fed(text, step)
    try:
        answer = reader.finish()
    except AnswerFormatError:
        return
    assert [statement for _, statement in early] == list(answer.statements[: len(early)])


@given(st.data())
def test_a_cut_output_yields_only_statements_of_the_whole_one(data: st.DataObject) -> None:
    texts = data.draw(st.lists(st.text(max_size=20), max_size=4))
    text = output(*[{"text": body, "citations": [{"id": body, "quote": body}]} for body in texts])
    whole = parse_answer(text).statements
    _, early = fed(text[: data.draw(st.integers(0, len(text)))], step=5)
    assert [statement for _, statement in early] == list(whole[: len(early)])
