"""Profile paper (Paper B): the best variant of the search where its score passes the gate."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gateway.consult.judgement import Fit
from gateway.consult.result import Consultation
from gateway.consult.selection import Decision
from gateway.consult.settings import ConsultProfile
from gateway.model import AbstentionReason, Leg, Validity
from tests.gateway.consult.consult_kit import (
    CAPITAL,
    CHILD,
    THUNDERCLAP,
    best_of,
    chooses,
    consulting,
    found,
    retrieved,
    with_text,
)
from tests.gateway.test_pipeline import Generating

TWO = ("headache-red-flag", "headache-thunderclap")


async def paper(scenario: str, *scores: float, **settings: object) -> Consultation:
    search = retrieved(found(*TWO[: len(scores)], scores=scores) if scores else ())
    made, _ = consulting(search, profile=ConsultProfile.PAPER, **settings)
    return await made.consult(scenario)


@pytest.mark.parametrize(
    ("score", "passes"), [(0.0, False), (1.999, False), (2.0, True), (2.001, True), (40.0, True)]
)
async def test_the_gate(score: float, passes: bool) -> None:
    result = await paper(THUNDERCLAP, score, score / 2)
    assert (result.decision is Decision.RECOMMENDED) is passes
    assert (result.decision is Decision.GATE) is not passes
    assert (result.chosen is not None) is passes
    # The first of the search, whatever it is about: this is the paper's way.
    assert [(one.fit, one.score) for one in result.candidates] == [
        (Fit.NOT_JUDGED, score),
        (Fit.NOT_JUDGED, score / 2),
    ]
    if result.chosen:
        assert result.chosen.variant.id == TWO[0]
        assert (result.assumptions, result.notices) == ((), ())


async def test_the_gate_may_be_set() -> None:
    assert (await paper(THUNDERCLAP, 2.9, min_score=3.0)).decision is Decision.GATE
    assert (await paper(THUNDERCLAP, 0.0, min_score=0.0)).decision is Decision.RECOMMENDED


async def test_nothing_found_does_not_pass() -> None:
    for settings in ({}, {"min_score": 0.0}):
        result = await paper(CAPITAL, **settings)
        assert result.decision is Decision.GATE
        assert result.abstention is not None
        assert result.abstention.reason is AbstentionReason.INSUFFICIENT_EVIDENCE
        assert "resembles" in result.abstention.message


async def test_rules_have_no_part() -> None:
    assert (await paper(CHILD, 5.0)).decision is Decision.RECOMMENDED


async def test_only_words_are_searched() -> None:
    made, searching = consulting(retrieved(()), profile=ConsultProfile.PAPER, candidates=20, topic="rules")
    await made.consult(THUNDERCLAP)
    (query,) = searching.queries
    assert (query.legs, query.filters.topics, query.limits.parents) == ((Leg.BM25,), ("rules",), 20)


async def test_the_score_of_what_is_left_out_opens_no_gate() -> None:
    first, second = found(*TWO, scores=(9.0, 1.0))
    expired = replace(first, passage=replace(first.passage, validity=Validity.EXPIRED))
    for left_out in (with_text(first, "# No variant"), expired):
        made, _ = consulting(retrieved((left_out, second)), profile=ConsultProfile.PAPER)
        assert (await made.consult(THUNDERCLAP)).decision is Decision.GATE


async def test_a_language_model_chooses_what_passed_the_gate() -> None:
    generating = Generating(chooses(best_of(TWO[1])))
    made, _ = consulting(retrieved(found(*TWO, scores=(8.0, 5.0))), generating, profile=ConsultProfile.PAPER)
    result = await made.consult(THUNDERCLAP)
    assert result.chosen is not None
    assert result.chosen.variant.id == TWO[1]
    made, _ = consulting(retrieved(found(*TWO, scores=(1.0, 0.5))), generating, profile=ConsultProfile.PAPER)
    assert (await made.consult(THUNDERCLAP)).decision is Decision.GATE
    assert len(generating.calls) == 1, "below the gate nothing is asked"


async def test_a_language_model_may_decline() -> None:
    made, _ = consulting(
        retrieved(found(*TWO, scores=(8.0, 5.0))),
        Generating(chooses(insufficient=True)),
        profile=ConsultProfile.PAPER,
    )
    assert (await made.consult(THUNDERCLAP)).decision is Decision.GENERATOR
