"""What a hostile or broken generator may write, and what becomes of it."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.answering.schema import (
    AnswerFormatError,
    ParsedAnswer,
    ParsedCitation,
    ParsedStatement,
    parse_answer,
)
from gateway.validation import Action, PassageText, StatementFlag, ValidatedAnswer, ValidationPolicy, validate

ID, OTHER = "0f1e2d3c4b5a69788796", "ffffffffffffffffffff"
PASSAGES = {
    ID: PassageText(
        "The series takes 6.5 min. The uptake is 5–10 % in adults. Serial no. deadbeef is on the tube. "
        "Workers get at most 20 mSv in a year. He wrote “see [ffffffffffffffffffff] for more” in the log."
    ),
    "1f1e2d3c4b5a69788796": PassageText("Серия длится 6,5 мин. Накопление 5–10 %. Ввод запрещён без экрана."),
}
RU = "1f1e2d3c4b5a69788796"


def run(
    text: str, *citations: tuple[str, str], question: str = "", policy: ValidationPolicy | None = None
) -> ValidatedAnswer:
    statement = ParsedStatement(text, tuple(ParsedCitation(id_, quote) for id_, quote in citations))
    return validate(
        ParsedAnswer(False, statements=(statement,)), PASSAGES, policy or ValidationPolicy(), question
    )


@pytest.mark.parametrize(
    "id_",
    [
        OTHER,
        ID.upper(),
        f" {ID}",
        f"{ID}\n",
        f"[{ID}]",
        f"id:{ID}",
        ID[:-1],
        ID + "0",
        ID.replace("e", "е"),
        ID.translate({ord(c): ord(c) + 0xFEE0 for c in "0123456789abcdef"}),
        ID[:5] + "\u200b" + ID[5:],
        "",
    ],
)
def test_an_id_in_any_other_form_cites_nothing(id_: str) -> None:
    result = run("The series takes 6.5 min.", (id_, "The series takes 6.5 min"))
    assert result.statements == ()
    assert (result.counts.citations_unknown, result.counts.statements_uncited) == (1, 1)


@pytest.mark.parametrize(
    ("text", "quote", "kept"),
    [
        ("It takes 6,5 мин.", "The series takes 6.5 min", True),
        ("It takes 6.50 minutes.", "The series takes 6.5 min", True),
        ("It takes 65 min.", "The series takes 6.5 min", False),
        ("It takes 6.5 h.", "The series takes 6.5 min", False),
        ("The uptake is 5 to 10 percent.", "uptake is 5–10 % in adults", True),
        ("The uptake is 5-10 %.", "uptake is 5–10 % in adults", True),
        ("The uptake is 5–15 %.", "uptake is 5–10 % in adults", False),
        ("The uptake is 5–10 mSv.", "uptake is 5–10 % in adults", False),
        ("At least 20 mSv.", "at most 20 mSv in a year", False),
        ("No more than 20 mSv in a year.", "at most 20 mSv in a year", True),
        ("20 mSv in a month.", "at most 20 mSv in a year", False),
    ],
)
def test_a_right_id_does_not_excuse_a_wrong_number(text: str, quote: str, kept: bool) -> None:
    assert bool(run(text, (ID, quote)).statements) is kept


def test_units_and_decimals_agree_across_languages() -> None:
    assert run("The series takes 6.5 min.", (RU, "Серия длится 6,5 мин")).statements
    assert run("Накопление от 5 до 10 процентов.", (ID, "uptake is 5–10 % in adults")).statements


def test_an_id_inside_a_quotation_of_the_passage_is_no_citation_of_its_own() -> None:
    result = run(
        "He wrote “see [ffffffffffffffffffff] for more”.", (ID, "see [ffffffffffffffffffff] for more")
    )
    (kept,) = result.statements
    assert kept.text == "He wrote “see for more”."
    assert kept.citations[0].id == ID


def test_an_id_put_into_a_quotation_makes_it_a_misquotation() -> None:
    assert run("It takes 6.5 min.", (ID, f"The series takes 6.5 min [{ID}]")).counts.citations_misquoted == 1


def test_marks_of_unknown_and_known_ids_are_not_shown() -> None:
    result = run(f"It takes 6.5 min [{OTHER}] (id: {ID}).", (ID, "The series takes 6.5 min"))
    assert result.statements[0].text == "It takes 6.5 min."


@pytest.mark.parametrize(
    "text", [f"[{OTHER}]", "\u200b", "See https://evil.example for 6.5 min.", "It takes 6.5 min. " * 1000]
)
def test_what_may_not_be_shown_is_dropped_and_counted(text: str) -> None:
    result = run(text, (ID, "The series takes 6.5 min"))
    assert result.statements == ()
    assert result.counts.statements_unsafe == 1


def test_numbers_are_checked_as_they_are_shown() -> None:
    assert run("It takes 6\u200b5 min.", (ID, "The series takes 6.5 min")).statements == ()
    assert run("10<sup>5</sup> min.", (ID, "The series takes 6.5 min")).statements == ()


def test_another_language_is_flagged_dropped_or_refused() -> None:
    question, citation = "Сколько длится серия?", (ID, "The series takes 6.5 min")
    paraphrase = "Scanning that sequence lasts about 6.5 min overall."
    flagged = run(paraphrase, citation, question=question)
    assert flagged.statements[0].flags == (StatementFlag.OTHER_LANGUAGE,)
    assert flagged.counts.statements_other_language == 1
    dropped = run(
        paraphrase, citation, question=question, policy=ValidationPolicy(other_language=Action.DROP)
    )
    assert (dropped.statements, dropped.counts.statements_other_language) == ((), 1)
    refused = run(
        paraphrase, citation, question=question, policy=ValidationPolicy(other_language=Action.ABSTAIN)
    )
    assert refused.refused


def test_a_quotation_keeps_the_language_of_its_passage() -> None:
    result = run(
        "The series takes 6.5 min.", (ID, "The series takes 6.5 min"), question="Сколько длится серия?"
    )
    assert result.statements[0].flags == ()
    assert run("Серия длится 6,5 мин.", (ID, "The series takes 6.5 min"), question="Сколько?").statements


@pytest.mark.parametrize(
    ("missing", "shown"),
    [
        ("the limit of apprentices", "the limit of apprentices"),
        ("the limit at 3 T", "the limit at 3 T"),
        ("The limit is 777 mSv.", ""),
        ("See https://evil.example", ""),
        (f"the annex [{OTHER}]", "the annex"),
        ("x " * 2000, ""),
    ],
)
def test_what_is_missing_states_nothing(missing: str, shown: str) -> None:
    answer = validate(ParsedAnswer(True, missing), PASSAGES, ValidationPolicy(), "What is the limit at 3 T?")
    assert answer.missing == shown


@pytest.mark.parametrize("filler", ["a", "[", '{"text": "', "\\u0000", "\n"])
def test_output_without_end_is_refused(filler: str) -> None:
    with pytest.raises(AnswerFormatError):
        parse_answer('{"insufficient": false, "statements": [' + filler * 250_000)


def test_more_statements_or_citations_than_anybody_reads_are_refused() -> None:
    citation = {"id": ID, "quote": "The series takes 6.5 min"}
    for count, citations in ((65, 1), (1, 65)):
        statements = [{"text": "6.5 min", "citations": [citation] * citations}] * count
        with pytest.raises(AnswerFormatError):
            parse_answer(json.dumps({"insufficient": False, "statements": statements}))


def test_the_last_of_two_equal_keys_counts_and_is_checked() -> None:
    forged = f'[{{"text": "Forged", "citations": [{{"id": "{OTHER}", "quote": "Forged quotation"}}]}}]'
    parsed = parse_answer(f'{{"insufficient": false, "statements": [], "statements": {forged}}}')
    assert validate(parsed, PASSAGES, ValidationPolicy()).statements == ()


@given(
    number=st.integers(1, 10_000),
    unit=st.sampled_from(["mSv", "мин", "mm", "%"]),
    wrong=st.integers(1, 10_000),
)
@settings(max_examples=100, deadline=None)
def test_a_number_is_shown_when_and_only_when_it_is_quoted(number: int, unit: str, wrong: int) -> None:
    passages = {ID: PassageText(f"The measured value equals {number} {unit} here.")}
    citation = ParsedCitation(ID, f"measured value equals {number} {unit} here")
    statement = ParsedStatement(f"It equals {wrong} {unit}.", (citation,))
    result = validate(ParsedAnswer(False, statements=(statement,)), passages, ValidationPolicy())
    assert bool(result.statements) is (number == wrong)


@given(st.integers(0, 100), st.integers(1, 60))
@settings(max_examples=100, deadline=None)
def test_a_changed_quotation_is_never_found(start: int, length: int) -> None:
    text = PASSAGES[ID].text
    quote = text[start : start + length] + " forsooth"
    assert run("Forsooth.", (ID, quote)).statements == ()
