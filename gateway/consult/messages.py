"""Maps consults to protobuf messages. No decisions here."""

from __future__ import annotations

from gateway import answer_messages
from gateway.consult.judgement import Fit
from gateway.consult.result import CitedVariant, Consultation, LookedAt
from gateway.consult.scope import Polarity
from gateway.consult.selection import Decision
from radref.api.gateway.v1 import consult_pb2
from radref.appropriateness.model import Category

_CATEGORIES = {
    Category.USUALLY_APPROPRIATE: consult_pb2.APPROPRIATENESS_CATEGORY_USUALLY_APPROPRIATE,
    Category.MAY_BE_APPROPRIATE: consult_pb2.APPROPRIATENESS_CATEGORY_MAY_BE_APPROPRIATE,
    Category.USUALLY_NOT_APPROPRIATE: consult_pb2.APPROPRIATENESS_CATEGORY_USUALLY_NOT_APPROPRIATE,
}
_POLARITIES = {
    Polarity.PRESENT: consult_pb2.FACT_POLARITY_PRESENT,
    Polarity.ABSENT: consult_pb2.FACT_POLARITY_ABSENT,
    Polarity.SUSPECTED: consult_pb2.FACT_POLARITY_SUSPECTED,
    Polarity.HISTORICAL: consult_pb2.FACT_POLARITY_HISTORICAL,
}
_FITS = {fit: consult_pb2.VariantFit.Value(f"VARIANT_FIT_{fit.name}") for fit in Fit}
_DECISIONS = {
    decision: consult_pb2.ConsultDecision.Value(f"CONSULT_DECISION_{decision.name}") for decision in Decision
}


def consultation_to(result: Consultation, request_id: str) -> consult_pb2.ConsultResponse:
    response = consult_pb2.ConsultResponse(
        outcome=answer_messages.OUTCOMES_TO_PROTO[result.outcome],
        variant=_variant_to(result.chosen) if result.chosen else None,
        procedures=[
            consult_pb2.ConsultProcedure(
                name=procedure.name,
                rating=procedure.rating,
                category=_CATEGORIES[procedure.category],
                radiation_level=procedure.radiation_level.value,
                comment=procedure.comment,
                citation_ids=[result.chosen.citation_id] if result.chosen else [],
            )
            for procedure in result.procedures
        ],
        facts=[
            consult_pb2.ScenarioFact(
                concept=fact.concept, polarity=_POLARITIES[fact.polarity], evidence=fact.evidence
            )
            for fact in result.facts
        ],
        assumptions=result.assumptions,
        notices=answer_messages.notices_to(result.notices),
        banner=result.banner,
        timings=answer_messages.timings_to(result.timings),
        request_id=request_id,
        versions=answer_messages.versions_to(result.versions),
        candidates=[_candidate_to(candidate) for candidate in result.candidates],
        decision=_DECISIONS[result.decision],
        open_questions=result.open_questions,
        validation=answer_messages.counts_to(result.validation),
    )
    if result.abstention is not None:
        response.abstention.reason = answer_messages.ABSTENTIONS_TO_PROTO[result.abstention.reason]
        response.abstention.message = result.abstention.message
    return response


def _variant_to(cited: CitedVariant) -> consult_pb2.ConsultVariant:
    return consult_pb2.ConsultVariant(
        id=cited.variant.id,
        topic=cited.variant.topic_title,
        title=cited.variant.title,
        citation_id=cited.citation_id,
    )


def _candidate_to(candidate: LookedAt) -> consult_pb2.ConsultCandidate:
    return consult_pb2.ConsultCandidate(
        variant=_variant_to(candidate.cited),
        fit=_FITS[candidate.fit],
        reasons=candidate.reasons,
        score=candidate.score,
    )
