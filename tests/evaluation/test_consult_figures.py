"""What counts as right, and how it is counted."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from evaluation.consult.citations import CitationCounts
from evaluation.consult.expectations import Expected
from evaluation.consult.figures import consistency, consult_figures, run_counts
from evaluation.consult.gate_curve import gate_curve
from evaluation.consult.gate_plot import gate_svg, tick_step
from evaluation.consult.item_rows import item_rows
from evaluation.consult.run import Observation, Seen
from evaluation.consult.scenario_set import Item
from evaluation.consult.tables import consult_tables
from evaluation.consult.verdict import verdict
from evaluation.exact_interval import exact_interval
from radref.api.gateway.v1 import answer_pb2, consult_pb2
from radref.errors import DeadlineExceeded
from tests.evaluation.eval_fake_consult import TOPIC_OF, abstention, answer

FAILED = DeadlineExceeded("too slow")


def scenario(name: str, variant: str = "knee-acute", best: str = "Scan of the knee A") -> Expected:
    item = Item(name, "scenario", name, "answer", variant, "scan-a", "", (), 1)
    return Expected(item, TOPIC_OF[variant], best)


def probe(name: str, variant: str = "") -> Expected:
    expect = "answer" if variant else "abstain"
    return Expected(Item(name, "probe", name, expect, variant, "", "", (), 1), TOPIC_OF.get(variant, ""))


def seen(
    response: consult_pb2.ConsultResponse, milliseconds: float = 1.0, emitted: int = 0, resolving: int = 0
) -> Observation:
    return Observation(response, milliseconds, CitationCounts(emitted, resolving))


def test_a_scenario_is_right_with_its_variant_and_its_first_procedure() -> None:
    judged = verdict(scenario("s"), answer("knee-acute"))
    assert (judged.answered, judged.right_variant, judged.right_top_procedure) == (True, True, True)
    assert judged.correct


def test_of_equally_rated_procedures_only_the_first_counts() -> None:
    other_first = answer("knee-acute", first="Scan of the knee B")
    judged = verdict(scenario("s"), other_first)
    assert (judged.correct, judged.right_top_procedure) == (True, False)
    assert verdict(scenario("s", best="Scan of the knee B"), other_first).right_top_procedure


def test_the_right_procedure_of_another_variant_is_not_right() -> None:
    judged = verdict(scenario("s", "knee-chronic", "Scan of the knee A"), answer("knee-acute"))
    assert (judged.right_variant, judged.right_top_procedure, judged.correct) == (False, False, False)
    assert judged.right_topic


def test_a_variant_without_procedures_has_no_best_one() -> None:
    response = answer("knee-acute")
    del response.procedures[:]
    judged = verdict(scenario("s"), response)
    assert (judged.right_variant, judged.right_top_procedure) == (True, False)


def test_a_partial_answer_is_an_answer() -> None:
    response = answer("knee-acute")
    response.outcome = answer_pb2.OUTCOME_PARTIALLY_ANSWERED
    assert verdict(scenario("s"), response).correct
    assert not verdict(probe("p"), response).correct


@pytest.mark.parametrize(
    ("response", "topic", "in_top"),
    [
        (abstention(), False, False),
        (abstention(1, ("knee-chronic", 2), ("knee-acute", 1)), True, True),
        (abstention(1, ("breast-lump", 2), ("knee-acute", 1)), False, True),
        (abstention(1, *(("knee-chronic", 2),) * 5, ("knee-acute", 1)), True, False),
        # The recommended variant counts for the topic, not what was retrieved best.
        (answer("breast-lump"), False, False),
    ],
)
def test_topic_and_rank_of_what_was_retrieved(
    response: consult_pb2.ConsultResponse, topic: bool, in_top: bool
) -> None:
    judged = verdict(scenario("s"), response)
    assert (judged.right_topic, judged.in_top, judged.correct) == (topic, in_top, False)


def test_probes_are_right_when_refused_and_terse_ones_when_answered() -> None:
    assert verdict(probe("p"), abstention()).correct
    assert not verdict(probe("p"), answer("knee-acute")).correct
    assert verdict(probe("p", "knee-acute"), answer("knee-acute")).correct
    assert not verdict(probe("p", "knee-acute"), answer("knee-chronic")).correct
    assert not verdict(probe("p", "knee-acute"), abstention()).correct


EXPECTED = [
    *(scenario("right"), scenario("wrong"), scenario("refused"), scenario("b-first")),
    *(probe("far"), probe("near"), probe("terse", "breast-lump"), probe("terse-wrong", "knee-acute")),
]
GATE = consult_pb2.CONSULT_DECISION_GATE
RUN: list[Seen] = [
    seen(answer("knee-acute", score=5), 10, emitted=3, resolving=3),
    seen(answer("knee-chronic", score=4), 20, emitted=2, resolving=1),
    seen(abstention(GATE, ("knee-acute", 1.5)), 30),
    seen(answer("knee-acute", first="Scan of the knee B", score=6), 40),
    seen(abstention(GATE), 50),
    seen(answer("knee-chronic", score=2), 60, emitted=2, resolving=2),
    seen(answer("breast-lump"), 70),
    seen(answer("breast-lump"), 80),
]


def test_every_count() -> None:
    figures = consult_figures(EXPECTED, [RUN])
    assert figures["scenarios"] == {
        "n": 4,
        "correct_variant": 2,
        "correct_top_procedure": 1,
        "wrong_variant": 1,
        "abstained": 1,
        "ci95": exact_interval(2, 4),
    }
    assert figures["probes"] == {
        "n": 2,
        "refused": 1,
        "ci95": exact_interval(1, 2),
        "answered_expected": 1,
        "answered_expected_n": 2,
    }
    assert figures["citations"] == {"emitted": 7, "resolving": 6}
    assert (figures["topic_correct"], figures["variant_in_top5"], figures["gate_refused"]) == (4, 3, 2)
    assert (figures["consistency"], figures["correct_every_run"]) == (1.0, 2)
    assert figures["latency_ms"] == {"p50": 45, "p95": pytest.approx(76.5), "max": 80, "stages": {}}
    assert len(figures["runs"]) == 1
    assert figures["runs"][0]["answered_expected_wrong_variant"] == 1
    assert figures["runs"][0]["errors"] == 0


def test_scenarios_add_up() -> None:
    counts = run_counts(EXPECTED, RUN)
    assert counts["scenarios"] == counts["correct_variant"] + counts["wrong_variant"] + counts["abstained"]


def test_headline_figures_are_of_the_first_run() -> None:
    flaky = list(RUN)
    flaky[0], flaky[5] = seen(abstention()), seen(abstention())
    figures = consult_figures(EXPECTED, [RUN, flaky, RUN])
    assert figures["scenarios"]["correct_variant"] == 2
    assert [run["correct_variant"] for run in figures["runs"]] == [2, 1, 2]
    assert [run["refused"] for run in figures["runs"]] == [1, 2, 1]
    assert figures["consistency"] == 6 / 8
    assert figures["correct_every_run"] == 1
    assert figures["latency_ms"]["max"] == 80


def test_another_order_of_procedures_is_not_the_same() -> None:
    one, other = seen(answer("knee-acute")), seen(answer("knee-acute", first="Scan of the knee B"))
    assert consistency([[one, one], [one, other]]) == 0.5
    # Times, facts and scores may differ.
    assert consistency([[one], [seen(answer("knee-acute", score=9), 99)]]) == 1


def test_a_failed_call_is_in_no_figure_of_its_run() -> None:
    failed: list[Seen] = [FAILED, *RUN[1:]]
    figures = consult_figures(EXPECTED, [failed, RUN])
    assert (figures["scenarios"]["n"], figures["scenarios"]["correct_variant"]) == (3, 1)
    assert [run["errors"] for run in figures["runs"]] == [1, 0]
    # Of the seven items that came through twice; and what failed once was not right every time.
    assert (figures["consistency"], figures["correct_every_run"]) == (1.0, 1)
    row = item_rows(EXPECTED, [failed, RUN])[0]
    assert (row["outcome"], row["error"], row["correct"]) == ("error", "DEADLINE", None)
    assert row["same_in_all_runs"] is None


def test_nothing_to_count_is_no_figure() -> None:
    figures = consult_figures([probe("terse", "breast-lump")], [[FAILED]])
    assert (figures["scenarios"]["ci95"], figures["probes"]["ci95"], figures["consistency"]) == (None,) * 3
    assert figures["latency_ms"] == {"p50": None, "p95": None, "max": None, "stages": {}}


def test_stage_times_are_those_of_the_responses() -> None:
    response = answer("knee-acute")
    response.timings.add(stage="search", milliseconds=4)
    other = answer("knee-acute")
    other.timings.add(stage="search", milliseconds=6)
    other.timings.add(stage="generate", milliseconds=1)
    figures = consult_figures([scenario("a"), scenario("b")], [[seen(response), seen(other)]])
    assert figures["latency_ms"]["stages"] == {
        "search": {"p50": 5, "p95": pytest.approx(5.9), "max": 6},
        "generate": {"p50": 1, "p95": 1, "max": 1},
    }


@pytest.mark.parametrize(
    ("hits", "total", "interval"),
    [
        # Closed forms: with none right the upper bound is 1 - 0.025 ** (1 / n).
        (0, 10, (0.0, 1 - 0.025 ** (1 / 10))),
        (12, 12, (0.025 ** (1 / 12), 1.0)),
        # The beta quantiles, as printed for 33 of 36.
        (33, 36, (0.7753, 0.9825)),
    ],
)
def test_intervals_are_exact(hits: int, total: int, interval: tuple[float, float]) -> None:
    assert exact_interval(hits, total) == pytest.approx(interval, abs=5e-5)


def test_no_interval_of_nothing() -> None:
    assert exact_interval(0, 0) is None


def test_rows_hold_what_the_system_saw() -> None:
    response = abstention(consult_pb2.CONSULT_DECISION_EXCLUDED, ("knee-acute", 2.5))
    response.facts.add(concept="fever", polarity=consult_pb2.FACT_POLARITY_ABSENT, evidence="no fever")
    response.assumptions.append("adult")
    response.open_questions.append("How old is the patient?")
    row = item_rows([scenario("s")], [[seen(response, 7)]])[0]
    assert row == {
        "id": "s",
        "kind": "scenario",
        "query": "s",
        "expected": {
            "outcome": "answer",
            "variant": "knee-acute",
            "top_procedure": "scan-a",
            "name": "Scan of the knee A",
        },
        "outcome": "abstained",
        "decision": "excluded",
        "variant": None,
        "top_procedure": None,
        "correct": False,
        "correct_top_procedure": False,
        "facts": [{"concept": "fever", "polarity": "absent", "evidence": "no fever"}],
        "assumptions": ["adult"],
        "open_questions": ["How old is the patient?"],
        "abstention": "Say more.",
        "candidates": [
            {"variant": "knee-acute", "fit": "open", "reasons": ["not said: age"], "score": 2.5},
        ],
        "top_score": 2.5,
        "citations": {"emitted": 0, "resolving": 0},
        "ms": 7,
        "same_in_all_runs": True,
    }


def test_the_table_names_what_went_wrong() -> None:
    run = [FAILED, *RUN[1:]]
    result = {"profile": "default", **consult_figures(EXPECTED, [run]), "items": item_rows(EXPECTED, [run])}
    figures, wrong = consult_tables(result)
    assert figures.row_count == 12
    assert list(wrong.columns[0].cells) == ["right", "wrong", "refused", "near", "terse-wrong"]
    assert list(wrong.columns[2].cells) == [
        *("DEADLINE", "knee-chronic", "abstention", "knee-chronic", "breast-lump")
    ]
    twice = {"profile": "x", **consult_figures(EXPECTED[:1], [RUN[:1]] * 2)}
    tables = consult_tables({**twice, "items": item_rows(EXPECTED[:1], [RUN[:1]] * 2)})
    assert [table.row_count for table in tables] == [14]


def test_the_gate_alone_passes_what_is_not_below_the_threshold() -> None:
    curve = gate_curve(EXPECTED, RUN)
    # Terse probes are in neither; the probe without a candidate counts as 0.
    assert (curve.scenarios, curve.probes) == ((5, 4, 1.5, 6), (0, 2))
    assert curve.thresholds == (0, 1.5, 2, 4, 5, 6)
    assert [curve.passing(threshold) for threshold in (0, 1.5, 2, 6, 6.1)] == [4, 4, 3, 1, 0]
    assert [curve.refused(threshold) for threshold in (0, 0.1, 2, 2.1)] == [0, 1, 1, 2]
    assert gate_curve(EXPECTED[:1], [FAILED]).thresholds == (0,)


def test_the_plot_draws_every_step() -> None:
    curve = gate_curve(EXPECTED, RUN)
    drawing = ElementTree.fromstring(gate_svg(curve, "<base> & set"))
    texts = [element.text for element in drawing.iter("{http://www.w3.org/2000/svg}text")]
    assert "<base> & set" in texts
    assert {"scenarios that pass (of 4)", "probes that are refused (of 2)"} <= set(texts)
    lines = [
        [tuple(map(float, point.split(","))) for point in element.attrib["points"].split()]
        for element in drawing.iter("{http://www.w3.org/2000/svg}polyline")
    ]
    bottom, top = 480 - 64, 64
    passing, refused = lines
    # From all four at 0 down to none behind the highest score.
    assert (passing[0], passing[-1]) == ((64, top), (640 - 64, bottom))
    assert [y for _, y in passing] == sorted(y for _, y in passing)
    # Any threshold above 0 refuses what found nothing.
    assert refused[0] == (64, bottom)
    assert refused[1] == (64, bottom - (bottom - top) / 4)
    assert refused[-1] == (640 - 64, bottom - (bottom - top) / 2)


def test_a_plot_of_nothing_is_a_plot() -> None:
    ElementTree.fromstring(gate_svg(gate_curve([], []), "empty"))


@pytest.mark.parametrize(("span", "step"), [(6, 1), (7, 2), (0.03, 0.005), (36, 10), (55, 10), (1, 0.2)])
def test_ticks_are_round(span: float, step: float) -> None:
    assert tick_step(span) == pytest.approx(step)
