import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.answering.schema import ParsedAnswer, ParsedCitation, ParsedConflict, ParsedStatement
from gateway.validation import Action, PassageText, StatementFlag, ValidationPolicy, validate

LIMITS = PassageText(
    "### § 5 Limits\n\nThe following limits apply to workers:\n\n- 50 mSv to the skin\n- 20 mSv to the "
    "lens\n\n"
    "The following limits apply to the public:\n\n- 1 mSv to the whole body\n\n"
    "| Organ | Limit (rem) |\n| --- | --- |\n| Public | |\n| Lens | 1.5 |\n| Skin | 5 |\n\n"
    "Shielding is not required for dental units. Records are kept for 3 years.",
    ("Part 2", "§ 5 Limits"),
    "Radiation code 2019",
)
PASSAGES = {
    "c1": LIMITS,
    "c2": PassageText("Пределы доз: не более 5 мЗв в год. Аппарат запрещено включать без экрана."),
}


def statement(text: str, *citations: tuple[str, str]) -> ParsedStatement:
    return ParsedStatement(text, tuple(ParsedCitation(id_, quote) for id_, quote in citations))


def run(*statements: ParsedStatement, policy: ValidationPolicy | None = None):
    return validate(ParsedAnswer(False, statements=statements), PASSAGES, policy or ValidationPolicy())


def test_a_good_statement_keeps_its_quotation_and_path() -> None:
    result = run(statement("Workers' skin: 50 mSv.", ("c1", "50 mSv  to the skin")))
    (kept,) = result.statements
    (citation,) = kept.citations
    assert citation.quote == "50 mSv to the skin" == LIMITS.text[citation.start : citation.end]
    assert citation.section_path == ("Part 2", "§ 5 Limits")
    assert result.counts.citations_valid == result.counts.statements_kept == 1


def test_an_unknown_id_is_stripped_never_repaired() -> None:
    result = run(statement("50 mSv.", ("c1 ", "50 mSv to the skin"), ("C1", "50 mSv to the skin")))
    assert result.statements == ()
    assert (result.counts.citations_unknown, result.counts.statements_uncited) == (2, 1)


def test_a_misquotation_is_stripped_and_the_rest_judged_alone() -> None:
    good, bad = ("c1", "50 mSv to the skin"), ("c1", "20 mSv to the gonads")
    assert len(run(statement("50 mSv to the skin.", good, bad)).statements[0].citations) == 1
    result = run(statement("50 mSv and 20 mSv.", good, bad))
    assert result.statements == ()
    assert (result.counts.citations_misquoted, result.counts.statements_unsupported_number) == (1, 1)


def test_a_number_elsewhere_in_the_passage_is_no_support() -> None:
    assert run(statement("The public may get 50 mSv.", ("c1", "1 mSv to the whole body"))).statements == ()


def test_row_header_group_lead_in_and_headings_support() -> None:
    assert run(statement("Lens: 1.5 rem.", ("c1", "Lens | 1.5"))).statements
    assert run(statement("Lens: 1.5 mSv.", ("c1", "Lens | 1.5"))).statements == ()
    assert run(statement("Under § 5 skin gets 5 rem (code of 2019).", ("c1", "Skin | 5"))).statements
    assert run(statement("Skin gets 1.5 rem.", ("c1", "Skin | 5"))).statements == ()


def test_a_missing_negation_is_flagged_or_dropped() -> None:
    missing = statement("Dental units need shielding.", ("c1", "Shielding is not required for dental units"))
    result = run(missing)
    assert result.statements[0].flags == (StatementFlag.NEGATION_MISSING,)
    assert result.counts.statements_flagged == 1
    assert run(missing, policy=ValidationPolicy(missing_negation=Action.DROP)).statements == ()
    refused = run(
        missing,
        statement("Kept 3 years.", ("c1", "Records are kept for 3 years")),
        policy=ValidationPolicy(missing_negation=Action.ABSTAIN),
    )
    assert refused.refused
    assert refused.statements == ()


@pytest.mark.parametrize(
    ("text", "quote", "flagged"),
    [
        ("At most 5 mSv.", "не более 5 мЗв в год", False),
        ("Включать можно с экраном.", "Аппарат запрещено включать без экрана", True),
        ("Без экрана включать нельзя.", "Аппарат запрещено включать без экрана", False),
    ],
)
def test_negation_in_russian(text: str, quote: str, flagged: bool) -> None:
    result = run(statement(text.replace("5 mSv", "5 мЗв в год"), ("c2", quote)))
    assert bool(result.statements[0].flags) is flagged


def test_the_place_that_supports_is_chosen_among_equal_quotations() -> None:
    text = "Workers (mSv):\n\n- limit for skin\n\n## 2024\n\n- limit for skin"
    result = validate(
        ParsedAnswer(False, statements=(statement("Since 2024 a limit for skin.", ("a", "limit for skin")),)),
        {"a": PassageText(text)},
        ValidationPolicy(),
    )
    assert result.statements[0].citations[0].start == text.rindex("limit")


def test_conflicts_keep_known_ids_and_lose_invented_numbers() -> None:
    answer = ParsedAnswer(
        True,
        " nothing on eyes ",
        (
            ParsedConflict(("c1", "x", "c1", "c2"), "20 mSv against 5 мЗв"),
            ParsedConflict(("c1",), "77 mSv against 5"),
            ParsedConflict(("x",), "nothing"),
        ),
    )
    result = validate(answer, PASSAGES, ValidationPolicy())
    assert [conflict.citation_ids for conflict in result.conflicts] == [("c1", "c2"), ("c1",)]
    assert [conflict.description for conflict in result.conflicts] == ["20 mSv against 5 мЗв", ""]
    assert result.missing == "nothing on eyes"


def test_policy_refuses_what_cannot_be_shown() -> None:
    with pytest.raises(ValueError, match="unsupported_number"):
        ValidationPolicy(unsupported_number=Action.FLAG)


PIECES = st.sampled_from(
    [
        "50 mSv",
        "20 mSv to the lens",
        "Lens | 1.5",
        "limits apply",
        "не более",
        "5 мЗв в год",
        "**",
        "\n\n",
        "| a |",
        "§ 5",
        "the",
        "-",
        "7",
    ]
)
WORDS = st.lists(PIECES | st.text(max_size=8), max_size=6).map(" ".join)
PASSAGE_TEXTS = WORDS.map(lambda words: words) | st.just(LIMITS.text) | st.text(max_size=200)


@st.composite
def cases(draw: st.DrawFn) -> tuple[ParsedAnswer, dict[str, PassageText]]:
    passages = {name: PassageText(draw(PASSAGE_TEXTS), ("A", "B"), "T") for name in ("a", "b")}

    def quote() -> str:
        if draw(st.booleans()):
            text = draw(st.sampled_from([passage.text for passage in passages.values()]))
            start = draw(st.integers(0, max(0, len(text) - 1)))
            return text[start : start + draw(st.integers(0, 60))]
        return draw(WORDS)

    statements = []
    for _ in range(draw(st.integers(0, 3))):
        ids = draw(st.lists(st.sampled_from(["a", "b", "c", ""]), max_size=3))
        statements.append(statement(draw(WORDS), *((id_, quote()) for id_ in ids)))
    return ParsedAnswer(draw(st.booleans()), statements=tuple(statements)), passages


@given(cases())
@settings(max_examples=150, deadline=None)
def test_whatever_is_generated_what_is_shown_is_quoted(
    case: tuple[ParsedAnswer, dict[str, PassageText]],
) -> None:
    answer, passages = case
    result = validate(answer, passages, ValidationPolicy())
    for kept in result.statements:
        assert kept.citations
        assert kept.text.strip()
        for citation in kept.citations:
            assert citation.quote == passages[citation.id].text[citation.start : citation.end]
            assert citation.quote.strip()
    counts = result.counts
    dropped = counts.statements_uncited + counts.statements_unsupported_number + counts.statements_unsafe
    assert counts.statements_kept + dropped == len(answer.statements)
    cited = sum(len(item.citations) for item in answer.statements)
    assert counts.citations_unknown + counts.citations_misquoted <= cited
