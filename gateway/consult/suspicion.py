"""Diagnoses that nobody names and that findings suggest."""

from __future__ import annotations

from gateway.consult.criteria import concepts_in
from gateway.consult.prepared import Prepared
from gateway.consult.scenario import Scenario
from gateway.consult.scope import Polarity
from gateway.consult.terminology.model import ConceptKind, Terminology

# Findings that together suggest a diagnosis; at least one of them must be specific. Chosen, not measured.
_FINDINGS_FOR_SUSPICION = 2


def inferred_diagnoses(
    variant: Prepared, keywords: frozenset[str], scenario: Scenario, terminology: Terminology
) -> frozenset[str]:
    """Diagnoses that the variant is about and that several findings among the keywords suggest.

    None where the text suspects another one, or something speaks against it.

    Args:
        keywords: findings that the keywords of its topic name.
    """
    concepts = terminology.concepts
    required = {concept for criterion in variant.all for concept in concepts_in(criterion.term)}
    findings = {
        concept
        for concept in keywords | required
        if scenario.present(concept) and concepts[concept].kind is ConceptKind.FINDING
    }
    # A finding and its wider kind are one finding.
    findings = {
        one
        for one in findings
        if not any(other != one and terminology.is_a(other, one) for other in findings)
    }
    specific = {concept for concept in findings if not concepts[concept].unspecific}
    enough = len(findings) >= _FINDINGS_FOR_SUSPICION and bool(specific)
    if not enough or _another_is_suspected(variant, scenario, terminology):
        return frozenset()
    return frozenset(
        diagnosis for diagnosis in variant.diagnoses if not _speaks_against(diagnosis, scenario, terminology)
    )


def _another_is_suspected(variant: Prepared, scenario: Scenario, terminology: Terminology) -> bool:
    """The text tells or suspects a diagnosis that the variant does not speak of."""
    return any(
        mention.polarity in (Polarity.SUSPECTED, Polarity.PRESENT)
        and terminology.concepts[mention.concept].kind is ConceptKind.DIAGNOSIS
        and not terminology.concepts[mention.concept].persists
        and not variant.speaks_about(mention.concept, terminology)
        for mention in scenario.mentions
    )


def _speaks_against(diagnosis: str, scenario: Scenario, terminology: Terminology) -> bool:
    return any(
        any(terminology.is_a(diagnosis, one) for one in concept.against) and scenario.present(concept.id)
        for concept in terminology.concepts.values()
        if concept.against
    )
