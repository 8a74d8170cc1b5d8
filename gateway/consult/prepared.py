"""A variant made ready: its criteria, assumptions, keywords and titles as expressions."""

from __future__ import annotations

import re
from dataclasses import dataclass

from gateway.consult.criteria import Asked, ConceptTerm, Criterion, Term, compiled, concepts_in, terms_in
from gateway.consult.terminology.model import ConceptKind, Terminology
from gateway.consult.words import words_of
from radref.appropriateness.model import Variant

_INITIAL = re.compile(r"\b(?:initial|first)\s+(?:imaging|study|examination|test)\b", re.IGNORECASE)
_SUSPECTED = re.compile(r"\bsuspected\b|\bsuspicion of\b", re.IGNORECASE)

_CLINICAL = (ConceptKind.FINDING, ConceptKind.DIAGNOSIS)


@dataclass(frozen=True, slots=True)
class Prepared:
    """See `prepared`.

    Attributes:
        keywords: findings and diagnoses that its keywords name.
        diagnoses: what every patient of it, or of its topic, is suspected of.
        speaks_of: every concept in its criteria, assumptions, titles and keywords.
        title_concepts: concepts of its title and its topic's.
        initial: it is about the first imaging.
        population: words of its population.
    """

    variant: Variant
    citation_id: str
    all: tuple[Criterion, ...]
    any: tuple[Criterion, ...]
    none: tuple[Criterion, ...]
    assume: tuple[Criterion, ...]
    keywords: frozenset[str]
    diagnoses: frozenset[str]
    speaks_of: frozenset[str]
    title_concepts: frozenset[str]
    initial: bool
    population: frozenset[str]

    def speaks_about(self, concept: str, terminology: Terminology) -> bool:
        """The concept, a wider or a narrower one stands in it."""
        return any(terminology.is_a(concept, one) or terminology.is_a(one, concept) for one in self.speaks_of)

    @property
    def criteria(self) -> tuple[Criterion, ...]:
        return (*self.all, *self.any, *self.none, *self.assume)


def prepared(variant: Variant, citation_id: str, terminology: Terminology) -> Prepared:
    """Compiles a variant; done once for each citation id, which names its content."""

    def all_of(texts: tuple[str, ...]) -> tuple[Criterion, ...]:
        return tuple(compiled(text, terminology) for text in texts)

    criteria = variant.criteria
    required = all_of(criteria.all)
    any_of = all_of(criteria.any)
    none_of = all_of(criteria.none)
    assume = all_of(criteria.assume)
    titles = f"{variant.topic_title}. {variant.title}"
    title_concepts = _concepts(titles, terminology)
    keywords = {concept for keyword in variant.keywords for concept in _concepts(keyword, terminology)}
    positive = frozenset().union(*(concepts_in(criterion.term) for criterion in (*required, *any_of)))
    suspected = {
        term.concept
        for criterion in required
        for term in terms_in(criterion.term)
        if isinstance(term, ConceptTerm) and term.asked is Asked.SUSPECTED
    }
    if _SUSPECTED.search(variant.topic_title):
        suspected |= {
            concept
            for concept in _concepts(variant.topic_title, terminology)
            if terminology.concepts[concept].kind is ConceptKind.DIAGNOSIS
        }
    return Prepared(
        variant=variant,
        citation_id=citation_id,
        all=required,
        any=any_of,
        none=none_of,
        assume=assume,
        keywords=frozenset(
            concept for concept in keywords if terminology.concepts[concept].kind in _CLINICAL
        ),
        diagnoses=frozenset(suspected),
        speaks_of=frozenset(
            positive.union(
                *(concepts_in(criterion.term) for criterion in (*none_of, *assume)),
                *(_concepts(text, terminology) for text in (titles, *variant.keywords)),
            )
        ),
        title_concepts=title_concepts,
        initial=bool(_INITIAL.search(variant.title)),
        population=frozenset(re.split(r"[\s,]*-?\bor\b-?[\s,]*|[\s,/]+", variant.population.casefold()))
        - {""},
    )


def _concepts(text: str, terminology: Terminology) -> frozenset[str]:
    found = terminology.phrases.find(words_of(text, terminology.aliases))
    solid = [hit for hit in found if not hit.gapped]
    return frozenset(
        hit.value[0]
        for hit in found
        if not any(
            other.first <= hit.first and hit.last <= other.last and other.length > hit.length
            for other in solid
        )
    )


__all__ = ["Prepared", "Term", "prepared"]
