"""The gate at the level of the answer, for every generator."""

import pytest

from gateway.answering.answer_gate import gate_for
from gateway.model import AbstentionReason, Answer, Filters, Outcome, Sources
from gateway.validation import ValidatedCitation, ValidatedStatement
from tests.gateway.test_answer_events import events_of
from tests.gateway.test_pipeline import GOOD, STRONG, TEXT, output, pipeline

OTHER = {"text": "The limit is for workers.", "citations": [{"id": f"{1:020x}", "quote": TEXT}]}


def statement(text: str, quote: str = "", *headings: str) -> ValidatedStatement:
    return ValidatedStatement(text, (ValidatedCitation("a" * 20, 0, len(quote), quote, headings),))


@pytest.mark.parametrize(
    ("question", "text", "quote", "passes"),
    [
        ("How many days may it be kept?", "It may be kept for 30 days.", "30 days", True),
        ("How many days may it be kept?", "It may be kept in the archive.", "kept in the archive", False),
        ("How many days may it be kept?", "It may be kept.", "kept for 30 days", True),
        ("Сколько дней хранят?", "Хранят 30 дней.", "30 дней", True),
        ("Сколько дней хранят?", "Хранят в архиве.", "в архиве", False),
        ("Who signs the form?", "The physicist signs it.", "The physicist signs", True),
        ("PE workup", "CT pulmonary angiography.", "CT pulmonary angiography", True),
    ],
)
def test_what_is_asked_must_stand_in_the_statement_or_its_quotations(
    question: str, text: str, quote: str, passes: bool
) -> None:
    assert gate_for(question)(statement(text, quote)) is passes


def test_a_unit_in_the_header_counts() -> None:
    row = statement("Skin: 500", "Skin | 500", "Limits in mSv")
    assert gate_for("What is the dose limit for the skin in mSv?")(row)


async def test_an_answer_without_what_is_asked_is_not_shown() -> None:
    made, _, _ = pipeline(STRONG, output({**OTHER, "text": "The limit is for a worker."}))
    answer = await made.answer("How many days is it valid?", Filters())
    assert answer.outcome is Outcome.ABSTAINED
    assert answer.abstention is not None
    assert answer.abstention.reason is AbstentionReason.INSUFFICIENT_EVIDENCE


async def test_statements_wait_for_the_one_that_holds_it() -> None:
    made, _, _ = pipeline(STRONG, output(GOOD))
    events = await events_of(made)
    assert isinstance(events[0], Sources)
    assert isinstance(events[-1], Answer)
    assert len(events) == 3
