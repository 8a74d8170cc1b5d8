"""`radref eval calibrate`: weights, folds, trade-off, what is written."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import yaml

from evaluation.calibration.fit import fit_weights, out_of_fold_scores
from evaluation.calibration.signals import SIGNALS
from evaluation.calibration.trade_off import area, bound_for, outlier_bound, point_at, trade_off
from gateway.gate import GateThresholds, gate_score
from gateway.model import Signals
from radref.api.gateway.v1 import gateway_pb2
from tests.evaluation.eval_fake_system import FakeGateway, serving
from tests.evaluation.test_eval_cli import evaluate, json_lines

RNG = np.random.default_rng(7)
ANSWERABLE = np.array([True] * 40 + [False] * 30)
# A signal that tells them apart, one that says nothing, one that speaks the wrong way round, one never given.
VALUES = np.stack(
    [
        ANSWERABLE + RNG.normal(0, 0.5, 70),
        RNG.normal(0, 1, 70),
        -2.0 * ANSWERABLE + RNG.normal(0, 0.5, 70),
        np.full(70, np.nan),
    ],
    axis=1,
)


def test_weights_are_never_negative_and_unused_signals_get_none() -> None:
    weights = fit_weights(VALUES, ANSWERABLE)
    assert weights.weight[0] > 0.5
    assert weights.weight[2] == weights.weight[3] == 0
    assert (weights.weight >= 0).all()
    assert weights.scores(np.array([[np.nan] * 4]))[0] == 0


def test_scores_out_of_fold_repeat_and_do_not_know_their_own_question() -> None:
    first = out_of_fold_scores(VALUES, ANSWERABLE, folds=5, seed=1)
    assert (first == out_of_fold_scores(VALUES, ANSWERABLE, folds=5, seed=1)).all()
    assert area(first, ANSWERABLE) > 0.8
    assert 0.3 < area(out_of_fold_scores(VALUES[:, 1:2], ANSWERABLE, folds=5, seed=1), ANSWERABLE) < 0.7


def test_bounds_refuse_no_more_than_the_share_asked_for() -> None:
    scores = np.arange(10, dtype=float)
    assert bound_for(scores, 0.0) == 0.0
    assert bound_for(scores, 0.2) == 2.0
    assert bound_for(scores, 1.0) == 9.0
    answerable = np.array([True, False] * 5)
    point = point_at(4.0, scores, answerable)
    assert (point.false_abstention, point.false_answer) == (0.4, 0.6)
    assert point.false_answer_ci is not None
    assert point.false_answer_ci[0] <= 0.6 <= point.false_answer_ci[1]
    bounds = [each.bound for each in trade_off(scores, answerable)]
    assert bounds == sorted(set(bounds))
    assert outlier_bound(np.array([1.0, 1.0, 1.0])) == 1.0


async def test_command_writes_settings_plot_and_figures(tmp_path: Path) -> None:
    questions = [
        {"id": f"q{n}", "language": "en", "query": f"question {n}"}
        | ({"key_facts": ["x"]} if n % 2 else {"expect": "abstain"})
        for n in range(24)
    ]
    path = json_lines(tmp_path / "set.jsonl", questions)

    def search(request: gateway_pb2.SearchRequest) -> gateway_pb2.SearchResponse:
        number = int(request.query.split()[1])
        signals = gateway_pb2.QuerySignals(
            best_dense=0.8 + 0.05 * (number % 2) + 0.002 * number,
            term_coverage=0.5,
            rare_term_coverage=0.3 + 0.01 * number,
        )
        return gateway_pb2.SearchResponse(signals=signals)

    out, plot, result = tmp_path / "gate.yaml", tmp_path / "gate.svg", tmp_path / "result.json"
    async with serving(FakeGateway(search)) as target:
        code, shown, problems = await evaluate(
            "calibrate", "--corpus", str(tmp_path), "--set", str(path), "--target", target,
            "--out", str(out), "--plot", str(plot), "--json", str(result),
        )  # fmt: skip
    assert code == 0, problems
    assert "false abstention" in shown
    gate = GateThresholds(**yaml.safe_load(out.read_text(encoding="utf-8"))["gateway"]["gate"])
    assert gate.embedder_fingerprint == "e5@1"
    assert gate.best_dense.weight > 0
    assert gate.term_coverage.weight == gate.best_bm25.weight == gate.best_rerank.weight == 0
    typical = Signals(gate.best_dense.typical, None, 0.5, rare_term_coverage=gate.rare_term_coverage.typical)
    assert gate_score(typical, gate) == 0
    ElementTree.fromstring(plot.read_text(encoding="utf-8"))
    figures = json.loads(result.read_text(encoding="utf-8"))
    assert figures["n"] == 24
    assert figures["chosen"]["false_abstention"] == 0
    assert set(figures["weights"]) == set(SIGNALS)
    assert figures["meta"]["settings"]["set"]["file"] == "set.jsonl"


async def test_too_few_questions_of_a_kind_are_refused(tmp_path: Path) -> None:
    rows = [{"id": f"q{n}", "language": "en", "query": "x", "key_facts": ["x"]} for n in range(9)]
    path = json_lines(tmp_path / "set.jsonl", rows)
    code, _, problems = await evaluate(
        "calibrate", "--corpus", str(tmp_path), "--set", str(path), "--target", "127.0.0.1:1"
    )
    assert code == 2
    assert "unanswerable" in problems


def test_no_signal_is_the_length_of_the_question() -> None:
    assert not [name for name in SIGNALS if "length" in name or "words" in name]


@pytest.mark.parametrize("name", SIGNALS)
def test_every_signal_is_one_of_the_gate(name: str) -> None:
    assert name in GateThresholds.model_fields
