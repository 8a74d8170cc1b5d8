"""How one variant fits one scenario, and why."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from gateway.consult.criteria import (
    AllOf,
    AnyOf,
    Asked,
    ConceptTerm,
    Criterion,
    LastingTerm,
    Term,
    concepts_in,
    terms_in,
)
from gateway.consult.prepared import Prepared
from gateway.consult.relevance import asked_for, has_emergency_feature, is_about, supporting
from gateway.consult.scenario import Scenario
from gateway.consult.scope import Polarity
from gateway.consult.suspicion import inferred_diagnoses
from gateway.consult.terminology.model import Concept, ConceptKind, Terminology
from gateway.consult.truth import Truth, View
from gateway.consult.words import key_of
from radref.appropriateness.model import Urgency

_NOT_AS_ASSUMED = "not as assumed: "
# A longer text tells the complaint where there is one.
_TERSE_WORDS = 15
_QUESTION_WORDS = frozenset(
    map(key_of, "what why how who when where is are does do can could should will would which".split())
)
_POPULATION_CONCEPTS = {
    "pregnant": "pregnancy",
    "postpartum": "postpartum",
    "child": "child",
    "adolescent": "child",
    "lactating": "breastfeeding",
    "breastfeeding": "breastfeeding",
}


class Fit(StrEnum):
    """Names as in gateway.v1.VariantFit."""

    FITS = "fits"
    OPEN = "open"
    EXCLUDED = "excluded"
    UNRELATED = "unrelated"
    NOT_JUDGED = "not_judged"


@dataclass(frozen=True, slots=True)
class Judgement:
    """A variant and how it fits.

    Attributes:
        reasons: why it does not fit; empty when it does.
        open_questions: what would decide it.
        assumptions: what was taken as given.
        supports: concepts of the scenario that speak for it.
        emergency: something of an emergency that it is about is said or suspected.
        other_question: the only thing against it is that first imaging is not what is asked.
    """

    prepared: Prepared
    fit: Fit
    reasons: tuple[str, ...] = ()
    open_questions: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()
    supports: frozenset[str] = frozenset()
    emergency: bool = False
    other_question: bool = False


def judge_all(
    candidates: Sequence[Prepared], scenario: Scenario, terminology: Terminology
) -> tuple[Judgement, ...]:
    """Holds the scenario against the population, criteria, assumptions and titles of each candidate.

    What suggests a diagnosis is told by the keywords of all candidates of its topic: the same complaint
    brings patients of every variant.
    """
    keywords: defaultdict[str, frozenset[str]] = defaultdict(frozenset)
    # What patients without an emergency have too is no feature of one.
    ordinary: frozenset[str] = frozenset()
    for one in candidates:
        keywords[one.variant.topic_id] |= one.keywords
        if one.variant.urgency is not Urgency.EMERGENCY:
            ordinary |= asked_for(one) | one.keywords
    return tuple(
        _Judge(one, keywords[one.variant.topic_id], ordinary, scenario, terminology).judgement()
        for one in candidates
    )


class _Judge:
    def __init__(
        self,
        prepared: Prepared,
        keywords: frozenset[str],
        ordinary: frozenset[str],
        scenario: Scenario,
        terminology: Terminology,
    ) -> None:
        self._variant = prepared
        self._ordinary = ordinary
        self._scenario = scenario
        self._terminology = terminology
        self._view = View(
            scenario, terminology, inferred=inferred_diagnoses(prepared, keywords, scenario, terminology)
        )
        self._against: list[str] = []
        self._open: list[tuple[str, str]] = []
        self._assumed: list[str] = []

    def judgement(self) -> Judgement:
        emergency = has_emergency_feature(self._variant, self._ordinary, self._scenario, self._terminology)
        if not is_about(self._variant, self._view):
            return Judgement(self._variant, Fit.UNRELATED, emergency=emergency)
        self._population()
        self._excluding()
        self._given()
        self._required()
        self._not_spoken_of()
        # What stands against it otherwise decides before the kind of the question does.
        other_question = not self._against and self._asks_something_else()
        if self._against:
            fit = Fit.EXCLUDED
        elif self._open:
            fit = Fit.OPEN
        else:
            fit = Fit.FITS
        return Judgement(
            self._variant,
            fit,
            reasons=self._reasons(),
            open_questions=tuple(dict.fromkeys(question for _, question in self._open if question)),
            assumptions=tuple(dict.fromkeys(self._assumed)) if fit is Fit.FITS else (),
            supports=supporting(self._variant, self._scenario),
            emergency=emergency,
            other_question=other_question,
        )

    def _reasons(self) -> tuple[str, ...]:
        """What excludes it, else what is open; a contradicted assumption only where it is the only one."""
        against = [one for one in self._against if not one.startswith(_NOT_AS_ASSUMED)] or self._against
        return tuple(dict.fromkeys(against or [reason for reason, _ in self._open]))

    # What speaks against it, and what is open

    def _population(self) -> None:
        population = self._variant.population
        wanted = {_POPULATION_CONCEPTS[word] for word in population if word in _POPULATION_CONCEPTS}
        child = self._scenario.polarities("child")
        if "adult" in population and Polarity.PRESENT in child:
            self._against.append(f"for adults: {self._said('child')}")
        if not wanted or "adult" in population:
            return
        truths = {self._view.truth(ConceptTerm(concept)) for concept in wanted}
        name = " or ".join(sorted(word for word in population if word in _POPULATION_CONCEPTS))
        # Of "pregnant or lactating" the criteria say more exactly who is meant: lactation that ended lately.
        told = any(
            concepts_in(criterion.term) & wanted and self._view.truth(criterion.term) is Truth.YES
            for criterion in self._variant.any
        )
        if Truth.YES in truths or told:
            return
        if truths == {Truth.NO} or (
            "pregnant" in population and not truths & {Truth.MAYBE} and not self._scenario.may_be_pregnant
        ):
            self._against.append(f"not {name}")
        else:
            self._open.append((f"not said: {name}", f"is the patient {name}?"))

    def _excluding(self) -> None:
        for criterion in self._variant.none:
            truth = self._view.truth(criterion.term)
            if truth is Truth.YES:
                self._against.append(f"excluded by: {criterion.text}{self._quoted(criterion.term)}")
            elif (
                truth is Truth.MAYBE
                or self._partly(criterion.term)
                or self._in_wider_terms(criterion.term)
                or self._when_is_open(criterion.term)
            ):
                self._open.append((f"unclear: {criterion.text}", f"{criterion.text}?"))
        for diagnosis in self._variant.diagnoses:
            label = self._terminology.concepts[diagnosis].label
            if self._view.truth(ConceptTerm(diagnosis, Asked.SUSPECTED)) is Truth.NO:
                self._against.append(f"not suspected: {label}{self._quoted(ConceptTerm(diagnosis))}")
            elif self._variant.initial and self._scenario.confirmed(diagnosis, self._terminology):
                self._against.append(f"no suspicion any more: {label}{self._quoted(ConceptTerm(diagnosis))}")

    def _in_wider_terms(self, term: Term) -> bool:
        """The text tells of a trauma and not how grave; the exclusion is of a major one.

        Not where a trauma is what the variant is about.
        """
        own = frozenset().union(
            *(concepts_in(criterion.term) for criterion in (*self._variant.all, *self._variant.any))
        )
        return any(
            self._view.truth(ConceptTerm(concept)) is Truth.UNKNOWN
            and any(
                self._terminology.concepts[wider].decisive
                and self._scenario.present(wider)
                and not any(self._terminology.is_a(one, wider) for one in own)
                for wider in self._terminology.ancestors[concept]
            )
            for concept in concepts_in(term)
        )

    def _when_is_open(self, term: Term) -> bool:
        """An exclusion of something recent is told without its time."""
        if isinstance(term, AnyOf):
            return any(self._when_is_open(one) for one in term.terms)
        return (
            isinstance(term, LastingTerm)
            and term.most < float("inf")
            and self._view.truth(term) is Truth.UNKNOWN
            and self._view.truth(term.term) is Truth.YES
        )

    def _partly(self, term: Term) -> bool:
        """A part of an exclusion holds which is not what every patient of this variant has anyway."""
        if not isinstance(term, AllOf):
            return isinstance(term, AnyOf) and any(self._partly(one) for one in term.terms)
        if self._view.truth(term) is Truth.NO:
            return False
        own = frozenset().union(*(concepts_in(criterion.term) for criterion in self._variant.all))
        return any(
            self._view.truth(one) in (Truth.YES, Truth.MAYBE) and not concepts_in(one) <= own
            for one in term.terms
        )

    def _given(self) -> None:
        """Takes the assumptions that the text leaves open; one that it contradicts speaks against it."""
        given: set[str] = set()
        spans: list[LastingTerm] = []
        for criterion in self._variant.assume:
            truth = self._view.truth(criterion.term)
            if truth is Truth.NO:
                self._against.append(f"{_NOT_AS_ASSUMED}{criterion.text}{self._quoted(criterion.term)}")
            elif truth is Truth.MAYBE or self._partly_denied(criterion.term):
                self._open.append((f"unclear: {criterion.text}", f"{criterion.text}?"))
            elif truth is Truth.UNKNOWN:
                self._assumed.append(criterion.text)
                given |= _positive_concepts(criterion.term)
                if isinstance(criterion.term, LastingTerm):
                    spans.append(criterion.term)
        self._view = replace(self._view, given=frozenset(given), given_spans=tuple(spans))

    def _partly_denied(self, term: Term) -> bool:
        return (
            isinstance(term, AnyOf)
            and self._view.truth(term) is Truth.UNKNOWN
            and any(self._view.truth(one) is Truth.NO for one in term.terms)
        )

    def _required(self) -> None:
        self._view = replace(self._view, suspicion_counts=True)
        for criterion in self._variant.all:
            truth = self._view.truth(criterion.term)
            if truth is Truth.YES or (truth is Truth.UNKNOWN and self._named(criterion)):
                continue
            if truth is Truth.NO:
                self._against.append(f"required: {criterion.text}{self._quoted(criterion.term)}")
            else:
                self._open.append((f"not said: {criterion.text}", f"{criterion.text}?"))
        if not self._variant.any:
            return
        truths = [self._view.truth(criterion.term) for criterion in self._variant.any]
        if Truth.YES in truths:
            return
        wanted = "; ".join(criterion.text for criterion in self._variant.any)
        if set(truths) == {Truth.NO}:
            self._against.append(f"required, one of: {wanted}")
        else:
            self._open.append((f"not said: one of {wanted}", f"is there one of: {wanted}?"))

    def _named(self, criterion: Criterion) -> bool:
        """Who names the suspected condition alone ("kidney stone, which scan?") has its complaint in mind."""
        if len(self._scenario.words) > _TERSE_WORDS:
            return False
        terms = criterion.term.terms if isinstance(criterion.term, AnyOf) else (criterion.term,)
        for term in terms:
            if not isinstance(term, AllOf):
                continue
            named = [one for one in term.terms if self._is_named_suspicion(one)]
            rest = [one for one in term.terms if one not in named]
            if named and all(
                isinstance(one, ConceptTerm)
                and self._view.truth(one) is Truth.UNKNOWN
                and one.concept in self._variant.title_concepts
                for one in rest
            ):
                self._assumed += [
                    self._terminology.concepts[one.concept].label
                    for one in rest
                    if isinstance(one, ConceptTerm)
                ]
                return True
        return False

    def _is_named_suspicion(self, term: Term) -> bool:
        return (
            isinstance(term, ConceptTerm)
            and term.asked is Asked.SUSPECTED
            and View(self._scenario, self._terminology).truth(term) is Truth.YES
        )

    def _not_spoken_of(self) -> None:
        """What changes which imaging is right must stand in it; in a routine variant every finding must."""
        routine = self._variant.variant.urgency is Urgency.ROUTINE
        for concept in self._terminology.concepts.values():
            states = self._scenario.polarities(concept.id)
            if (
                (concept.decisive or (routine and _is_of_its_own(concept)))
                and Polarity.PRESENT in states
                and Polarity.ABSENT not in states
                and not self._variant.speaks_about(concept.id, self._terminology)
            ):
                self._open.append(
                    (f"the variant does not speak of: {concept.label}{self._said_in(concept.id)}", "")
                )

    def _asks_something_else(self) -> bool:
        """A question of treatment or follow-up is none of first imaging."""
        asked = [
            concept
            for concept in self._terminology.concepts.values()
            if concept.kind is ConceptKind.QUESTION and self._scenario.present(concept.id)
        ]
        about_imaging = any(concept.id == "imaging-question" for concept in asked)
        if not about_imaging and self._is_bare_question():
            self._against.append("the question is another one: it does not ask for imaging")
            return True
        for concept in asked:
            if concept.id == "imaging-question" or self._variant.speaks_about(concept.id, self._terminology):
                continue
            later = self._terminology.is_a(concept.id, "later-imaging")
            if (later and self._variant.initial) or (not later and not about_imaging):
                self._against.append(
                    f"the question is another one: {concept.label}{self._said_in(concept.id)}"
                )
                return True
        return False

    def _is_bare_question(self) -> bool:
        """A short question in whole: "What is a thunderclap headache?"."""
        words = self._scenario.words
        return (
            len(words) <= _TERSE_WORDS
            and words[0].key in _QUESTION_WORDS
            and self._scenario.text.endswith("?")
        )

    # Words of the scenario

    def _quoted(self, term: Term) -> str:
        for concept in concepts_in(term):
            for one in (concept, *self._terminology.descendants.get(concept, ())):
                if one in self._scenario.evidence:
                    return f' ("{self._scenario.evidence[one]}")'
        return ""

    def _said_in(self, concept: str) -> str:
        return self._quoted(ConceptTerm(concept))

    def _said(self, concept: str) -> str:
        if self._scenario.age is not None:
            return f"{self._scenario.age:g} years"
        return self._scenario.evidence.get(concept, concept)


def _is_of_its_own(concept: Concept) -> bool:
    clinical = concept.kind in (ConceptKind.FINDING, ConceptKind.DIAGNOSIS)
    return clinical and not concept.unspecific and not concept.persists


def _positive_concepts(term: Term) -> frozenset[str]:
    return frozenset(
        one.concept
        for one in terms_in(term)
        if isinstance(one, ConceptTerm) and one.asked is not Asked.ABSENT
    )
