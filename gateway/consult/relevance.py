"""Whether a scenario is about a variant at all: its complaint, what speaks for it, its emergency features."""

from __future__ import annotations

from gateway.consult.criteria import AllOf, AnyOf, LastingTerm, Term, WordsTerm, concepts_in, terms_in
from gateway.consult.prepared import Prepared
from gateway.consult.scenario import Scenario
from gateway.consult.scope import Polarity
from gateway.consult.terminology.model import ConceptKind, Terminology
from gateway.consult.truth import Truth, View
from radref.appropriateness.model import Urgency

_SAID = frozenset({Polarity.PRESENT, Polarity.SUSPECTED})


def asked_for(variant: Prepared) -> frozenset[str]:
    """Concepts that it requires."""
    return frozenset().union(*(concepts_in(criterion.term) for criterion in (*variant.all, *variant.any)))


def is_about(variant: Prepared, view: View) -> bool:
    """Something that it asks for, other than who the patient is, is said or suspected."""
    return any(
        view.truth(term) in (Truth.YES, Truth.MAYBE)
        for criterion in (*variant.all, *variant.any)
        for term in terms_in(criterion.term)
        if not isinstance(term, AllOf | AnyOf | LastingTerm) and not _tells_who(term, view.terminology)
    )


def supporting(variant: Prepared, scenario: Scenario) -> frozenset[str]:
    """Concepts of the scenario that speak for it."""
    return frozenset(
        concept for concept in asked_for(variant) | variant.keywords if scenario.polarities(concept) & _SAID
    )


def has_emergency_feature(
    variant: Prepared, ordinary: frozenset[str], scenario: Scenario, terminology: Terminology
) -> bool:
    """Whatever the fit: a feature of an emergency may not be lost in an abstention.

    Args:
        ordinary: concepts that patients without an emergency have too.
    """
    if variant.variant.urgency is not Urgency.EMERGENCY:
        return False
    features = (variant.keywords | asked_for(variant) | variant.diagnoses) - ordinary
    return any(
        not terminology.concepts[concept].unspecific
        and terminology.concepts[concept].kind in (ConceptKind.FINDING, ConceptKind.DIAGNOSIS)
        and scenario.polarities(concept) & _SAID
        for concept in features
    )


def _tells_who(term: Term, terminology: Terminology) -> bool:
    kinds = {terminology.concepts[concept].kind for concept in concepts_in(term)}
    return not isinstance(term, WordsTerm) and kinds <= {
        ConceptKind.PATIENT,
        ConceptKind.COURSE,
        ConceptKind.QUESTION,
    }
