"""Consults as messages of the API and as JSON: every value of every enumeration, every field."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gateway.consult.judgement import Fit
from gateway.consult.messages import consultation_to
from gateway.consult.result import CitedVariant, Consultation, LookedAt
from gateway.consult.scenario import Fact
from gateway.consult.scope import Polarity
from gateway.consult.selection import Decision
from gateway.model import Abstention, AbstentionReason, Notice, NoticeKind, Outcome, Versions
from gateway.rest import consult_mapping
from gateway.validation import ValidationCounts
from radref.api.gateway.v1 import answer_pb2, consult_pb2
from radref.appropriateness.model import Category, Procedure, RadiationLevel
from tests.gateway.consult.consult_kit import citation, variant

CITED = CitedVariant(variant("headache-thunderclap"), citation("headache-thunderclap"))
PROCEDURES = (
    Procedure("a", "A", 9, RadiationLevel.MEDIUM, "First."),
    Procedure("b", "B", 5, RadiationLevel.LOW),
    Procedure("c", "C", 1, RadiationLevel.HIGH),
)
ANSWERED = Consultation(
    outcome=Outcome.ANSWERED,
    decision=Decision.RECOMMENDED,
    chosen=CITED,
    procedures=PROCEDURES,
    facts=tuple(Fact(f"concept {one.value}", one, f"words {one.value}") for one in Polarity),
    assumptions=("adult",),
    open_questions=("is it sudden?",),
    abstention=None,
    notices=tuple(Notice(kind, f"notice {kind.value}", (CITED.citation_id,)) for kind in NoticeKind),
    banner="SYNTHETIC",
    candidates=tuple(LookedAt(CITED, fit, (f"because {fit.value}",), 0.5) for fit in Fit),
    validation=ValidationCounts(citations_valid=3, citations_unknown=2, citations_misquoted=1),
    timings={"search": 2.0},
    versions=Versions(prompt="consult-1", knowledge_base=7, embedder="e5@1", generator="qwen@1"),
)


def abstained(decision: Decision, reason: AbstentionReason) -> Consultation:
    return replace(
        ANSWERED,
        outcome=Outcome.ABSTAINED,
        decision=decision,
        chosen=None,
        procedures=(),
        abstention=Abstention(reason, "why"),
    )


def test_a_recommendation() -> None:
    response = consultation_to(ANSWERED, "r1")
    assert response.variant == consult_pb2.ConsultVariant(
        id="headache-thunderclap", topic="Headache", title=CITED.variant.title, citation_id=CITED.citation_id
    )
    assert response.procedures[0] == consult_pb2.ConsultProcedure(
        name="A",
        rating=9,
        category=consult_pb2.APPROPRIATENESS_CATEGORY_USUALLY_APPROPRIATE,
        radiation_level="medium",
        comment="First.",
        citation_ids=[CITED.citation_id],
    )
    assert [each.category for each in response.procedures] == [1, 2, 3]
    assert len(Category) == 3
    assert (response.request_id, response.banner) == ("r1", "SYNTHETIC")
    assert (list(response.assumptions), list(response.open_questions)) == (["adult"], ["is it sudden?"])
    assert (response.validation.citations_valid, response.validation.citations_misquoted) == (3, 1)
    assert [(each.stage, each.milliseconds) for each in response.timings] == [("search", 2.0)]
    assert (response.versions.generator, response.versions.knowledge_base) == ("qwen@1", 7)
    assert not response.HasField("abstention")
    left_empty = {"abstention"}
    assert {field.name for field in response.DESCRIPTOR.fields} - left_empty == {
        field.name for field, _ in response.ListFields()
    }


@pytest.mark.parametrize("reason", AbstentionReason)
def test_an_abstention(reason: AbstentionReason) -> None:
    response = consultation_to(abstained(Decision.OPEN, reason), "r1")
    assert not response.HasField("variant")
    assert not response.procedures
    assert answer_pb2.AbstentionReason.Name(response.abstention.reason) == f"ABSTENTION_REASON_{reason.name}"
    assert response.abstention.message == "why"


def test_every_value_has_its_name() -> None:
    response = consultation_to(ANSWERED, "r1")
    assert [consult_pb2.VariantFit.Name(each.fit) for each in response.candidates] == [
        f"VARIANT_FIT_{fit.name}" for fit in Fit
    ]
    assert [consult_pb2.FactPolarity.Name(each.polarity) for each in response.facts] == [
        f"FACT_POLARITY_{one.name}" for one in Polarity
    ]
    assert [answer_pb2.NoticeKind.Name(each.kind) for each in response.notices] == [
        f"NOTICE_KIND_{kind.name}" for kind in NoticeKind
    ]
    for decision in Decision:
        mapped = consultation_to(replace(ANSWERED, decision=decision), "r1").decision
        assert consult_pb2.ConsultDecision.Name(mapped) == f"CONSULT_DECISION_{decision.name}"


@pytest.mark.parametrize(
    ("enumeration", "values"),
    [
        (consult_pb2.VariantFit, Fit),
        (consult_pb2.FactPolarity, Polarity),
        (consult_pb2.ConsultDecision, Decision),
        (consult_pb2.AppropriatenessCategory, Category),
    ],
)
def test_the_api_has_no_value_that_is_never_sent(enumeration, values) -> None:  # type: ignore[no-untyped-def]
    assert len(enumeration.values()) - 1 == len(values)


def test_json_has_every_value_too() -> None:
    body = consult_mapping.consultation_to(ANSWERED, "r1").model_dump(mode="json")
    assert [each["category"] for each in body["procedures"]] == [one.value for one in Category]
    assert [each["fit"] for each in body["candidates"]] == [fit.value for fit in Fit]
    assert [each["polarity"] for each in body["facts"]] == [one.value for one in Polarity]
    for decision in Decision:
        told = consult_mapping.consultation_to(abstained(decision, AbstentionReason.OUT_OF_SCOPE), "r1")
        assert told.model_dump(mode="json")["decision"] == decision.value
