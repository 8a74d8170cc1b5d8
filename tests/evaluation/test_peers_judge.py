from __future__ import annotations

import pytest

from evaluation.peers.judge import Timing, evidence, holds, paired, quote_ranks, speed
from evaluation.questions import Question


def question(*quotes: str) -> Question:
    return Question(id="q", query="?", language="en", doc_language="en", answerable=True, gold_quotes=quotes)


def test_a_quote_counts_only_where_one_passage_holds_all_of_it() -> None:
    passages = ["The limit is 20", "mSv a year. | staff | 20 mSv |", "The limit is **20 mSv** a year."]
    assert quote_ranks(question("limit is 20 mSv a year", "staff 20 mSv", "50 mSv"), passages) == (3, 2, None)


def test_no_passages_hold_nothing() -> None:
    assert quote_ranks(question("a"), []) == (None,)


@pytest.mark.parametrize(
    ("ranks", "held"),
    [
        ((1,), {"evidence_hit@1", "evidence_hit@5", "evidence_hit@13", "evidence_all@5"}),
        ((5, 6), {"evidence_hit@5", "evidence_hit@13"}),
        ((2, 5), {"evidence_hit@5", "evidence_hit@13", "evidence_all@5"}),
        ((13, None), {"evidence_hit@13"}),
        ((14, None), set()),
        ((None,), set()),
    ],
)
def test_measures(ranks: tuple[int | None, ...], held: set[str]) -> None:
    measures = ("evidence_hit@1", "evidence_hit@5", "evidence_hit@13", "evidence_all@5")
    assert {measure for measure in measures if holds(ranks, measure)} == held


def test_shares_are_of_all_questions_and_lie_in_their_intervals() -> None:
    figures, intervals = evidence([(1,), (5,), (None,), (13,)])
    assert figures == {
        "evidence_hit@1": 0.25,
        "evidence_hit@5": 0.5,
        "evidence_hit@13": 0.75,
        "evidence_all@5": 0.5,
    }
    for name, value in figures.items():
        low, high = intervals[name]
        assert value is not None
        assert low <= value <= high


def test_pairs_count_only_questions_that_one_side_finds() -> None:
    ours = [(1,), (2,), (None,), (9,)]
    theirs = [(1,), (None,), (4,), (6,)]
    against = paired([*ours, (3,)], [*theirs, (None,)], "evidence_hit@5")
    assert (against["won"], against["lost"]) == (2, 1)
    assert against["difference"] == pytest.approx(0.2)


def test_speed_is_questions_by_time_not_a_mean_of_rates() -> None:
    figures = speed([Timing(0.1, 0.05), Timing(0.3, 0.05)])
    assert figures["queries_per_second"] == pytest.approx(5.0)
    assert figures["queries_per_second_without_embedding"] == pytest.approx(2 / 0.3)
    assert figures["p50_ms"] == pytest.approx(200)
    assert figures["p50_ms_without_embedding"] == pytest.approx(150)


def test_an_embedding_longer_than_its_search_leaves_nothing_rather_than_less() -> None:
    assert speed([Timing(0.1, 0.2)])["queries_per_second_without_embedding"] is None
    assert speed([])["queries_per_second"] is None
