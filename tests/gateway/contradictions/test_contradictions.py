"""Labelled pairs, notices, and single rules of the finder."""

from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

import pytest

from benchmarks.contradictions.pairs import read_pairs
from benchmarks.contradictions.score import Share, score
from gateway.answer_messages import notices_to
from gateway.contradictions import contradiction_notices, find_contradictions
from gateway.contradictions.amounts import Amount, Side, contradict
from gateway.contradictions.segments import segments
from gateway.model import DocumentInfo, Newer, NoticeKind, Passage, RankedPassage
from gateway.validation import ValidatedConflict
from radref.api.gateway.v1 import answer_pb2

PAIRS = read_pairs(Path(__file__).parent / "pairs.yaml")
LENS = "The annual limit for the lens of the eye of a worker is {} mSv."


def parent(name: str, text: str, **document: object) -> RankedPassage:
    info = DocumentInfo(title=f"Rules {name}", topic="safety", language="en", **document)
    return RankedPassage(Passage(name * 20, f"doc-{name}", 1, 0, text, ("Workers",), info), 0.01, ())


def test_there_are_enough_pairs_half_of_them_harmless() -> None:
    assert len({pair.id for pair in PAIRS}) == len(PAIRS) >= 60
    assert sum(pair.differs for pair in PAIRS) >= 30
    assert sum(not pair.differs for pair in PAIRS) >= 30


def test_no_regression_on_the_labelled_pairs() -> None:
    dev = score(pair for pair in PAIRS if pair.half == "dev")
    held_out = score(pair for pair in PAIRS if pair.half == "held_out")
    assert dev.false_alarms == held_out.false_alarms == ()
    assert dev.recall.hits >= 16
    assert held_out.recall.hits >= 14
    assert dev.newer_right + held_out.newer_right == dev.hits + held_out.hits


def test_both_places_are_quoted_exactly_with_their_dates() -> None:
    old = parent("a", LENS.format(150), year=2009)
    new = parent("b", LENS.format(20), effective_from=datetime(2021, 3, 1, tzinfo=UTC), authority="Office")
    (found,) = find_contradictions("What is the lens limit?", [old, new], ())
    assert (found.first.value, found.second.value) == ("150 mSv", "20 mSv")
    for place, source in ((found.first, old), (found.second, new)):
        assert place.quote == source.passage.text[place.start : place.end]
    assert found.newer is Newer.SECOND
    assert (found.first.year, found.second.authority) == (2009, "Office")


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        (
            "What is the lens limit?",
            ("the older, ", "150 mSv", "the newer, ", "20 mSv", "2009", "2021-03-01"),
        ),
        ("Каков предел дозы в хрусталике?", ("более старый, ", "более новый, ", "2009", "с 01.03.2021")),
    ],
)
def test_the_notice_names_the_older_first_in_the_language_of_the_question(
    question: str, parts: tuple[str, ...]
) -> None:
    new = parent("a", LENS.format(20), effective_from=datetime(2021, 3, 1, tzinfo=UTC))
    old = parent("b", LENS.format(150), year=2009)
    (notice,) = contradiction_notices(question, [new, old], ())
    assert notice.kind is NoticeKind.CONTRADICTION
    assert notice.citation_ids == ("a" * 20, "b" * 20)
    assert all(part in notice.message for part in parts)
    assert notice.message.index("2009") < notice.message.index("2021")
    (message,) = notices_to([notice])
    assert message.contradiction.newer == answer_pb2.NEWER_PLACE_FIRST
    assert message.contradiction.first.quote == new.passage.text
    assert message.contradiction.first.effective_from.ToDatetime(tzinfo=UTC).year == 2021
    assert not message.contradiction.second.HasField("effective_from")


def test_a_document_that_supersedes_is_the_newer_whatever_its_date() -> None:
    new = parent("a", LENS.format(20), year=2001, supersedes=("doc-b",))
    old = parent("b", LENS.format(150), year=2009)
    (found,) = find_contradictions("lens limit", [old, new], ())
    assert found.newer is Newer.SECOND


def test_what_the_generator_reports_of_the_same_passages_is_said_once() -> None:
    parents = [parent("a", LENS.format(20)), parent("b", LENS.format(150))]
    same, other = ValidatedConflict(("b" * 20, "a" * 20), "differ"), ValidatedConflict(("a" * 20,), "")
    notices = contradiction_notices("lens limit", parents, (), (same, other))
    assert [bool(notice.contradiction) for notice in notices] == [True, False]
    assert notices[1].message == "Passages contradict each other."


def test_cited_passages_come_first_and_few_are_reported() -> None:
    parents = [parent(name, LENS.format(10 + 7 * place)) for place, name in enumerate("abcdef")]
    found = find_contradictions("lens limit", parents, {"f" * 20})
    assert len(found) == 4
    assert all("f" * 20 in (one.first.citation_id, one.second.citation_id) for one in found)


def test_one_section_does_not_contradict_itself() -> None:
    text = f"{LENS.format(20)}\n\n{LENS.format(15)}"
    one = parent("a", text)
    again = replace(one, passage=replace(one.passage, citation_id="b" * 20))
    assert find_contradictions("lens limit", [one, again], ()) == ()


def test_work_is_bounded_on_numbers_without_end() -> None:
    text = "\n\n".join(LENS.format(number) for number in range(1, 400))
    assert len(find_contradictions("lens limit", [parent(name, text) for name in "abcde"], ())) == 4


def amount(low: float, high: float | None = None, side: Side = Side.EXACT, *, about: bool = False) -> Amount:
    first = Fraction(str(low))
    return Amount("length", first, Fraction(str(high)) if high is not None else first, side, about)


@pytest.mark.parametrize(
    ("first", "second", "differ"),
    [
        (amount(5), amount(6), True),
        (amount(5), amount(5), False),
        (amount(9, 13), amount(10, 12), False),
        (amount(9, 13), amount(12, 15), False),
        (amount(9, 11), amount(12, 15), True),
        (amount(6), amount(6.01), False),
        (amount(13.5), amount(14), True),
        (amount(5.5), amount(6, about=True), False),
        (amount(5, side=Side.UPPER), amount(4), False),
        (amount(5, side=Side.UPPER), amount(6), True),
        (amount(5, side=Side.LOWER), amount(6), False),
        (amount(5, side=Side.LOWER), amount(4), True),
        (amount(5, side=Side.LOWER), amount(4, side=Side.UPPER), False),
        (amount(5, side=Side.UPPER), amount(4, side=Side.UPPER), True),
    ],
)
def test_when_amounts_contradict(first: Amount, second: Amount, differ: bool) -> None:
    assert contradict(first, second) is differ
    assert contradict(second, first) is differ


def test_segments_stand_where_they_say() -> None:
    text = (
        "# A\n\nOne is 5 mm. Two is\n6 mm.\n\nLimits are:\n\n- x: 7 mm;\n- y: 8 mm.\n\n## B\n\n"
        "| Name | Size (mm) |\n| --- | --- |\n| Left | 9 |\n"
    )
    found = list(segments(text, ("Top",)))
    assert [text[piece.start : piece.end] for piece in found] == [
        "One is 5 mm.",
        "Two is\n6 mm.",
        "Limits are:",
        "x: 7 mm;",
        "y: 8 mm.",
        "| Left | 9 |",
    ]
    assert found[4].lead_ins == ("Limits are:",)
    assert (found[5].labels, found[5].text, found[5].headings[-1]) == (("Left", "Size "), "9 mm", "B")


def test_intervals_are_those_of_clopper_and_pearson() -> None:
    low, high = Share(14, 16).interval
    assert (round(low, 3), round(high, 3)) == (0.617, 0.984)
    assert Share(16, 16).interval[1] == 1.0
