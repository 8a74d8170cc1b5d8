"""Maps consults to JSON models. No decisions here."""

from __future__ import annotations

from gateway.consult.result import CitedVariant, Consultation
from gateway.rest.mapping import notices_to, timings_to, versions_to
from gateway.rest.models import answers, consults


def consultation_to(result: Consultation, request_id: str) -> consults.ConsultResponse:
    cited = [result.chosen.citation_id] if result.chosen else []
    return consults.ConsultResponse(
        outcome=result.outcome.value,
        decision=result.decision.value,
        variant=_variant(result.chosen) if result.chosen else None,
        procedures=[
            consults.ConsultProcedure(
                name=procedure.name,
                rating=procedure.rating,
                category=procedure.category.value,
                radiation_level=procedure.radiation_level.value,
                comment=procedure.comment,
                citation_ids=cited,
            )
            for procedure in result.procedures
        ],
        facts=[
            consults.ScenarioFact(concept=fact.concept, polarity=fact.polarity.value, evidence=fact.evidence)
            for fact in result.facts
        ],
        assumptions=list(result.assumptions),
        open_questions=list(result.open_questions),
        abstention=answers.Abstention.model_validate(result.abstention) if result.abstention else None,
        notices=notices_to(result.notices),
        banner=result.banner,
        candidates=[
            consults.ConsultCandidate(
                variant=_variant(candidate.cited),
                fit=candidate.fit.value,
                reasons=list(candidate.reasons),
                score=candidate.score,
            )
            for candidate in result.candidates
        ],
        validation=answers.ValidationCounts.model_validate(result.validation),
        timings=timings_to(result.timings),
        request_id=request_id,
        versions=versions_to(result.versions),
    )


def _variant(cited: CitedVariant) -> consults.ConsultVariant:
    variant = cited.variant
    return consults.ConsultVariant(
        id=variant.id, topic=variant.topic_title, title=variant.title, citation_id=cited.citation_id
    )
