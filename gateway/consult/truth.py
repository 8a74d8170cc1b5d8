"""Whether a criterion holds in a scenario."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from gateway.consult.criteria import (
    AgeTerm,
    AllOf,
    AnyOf,
    Asked,
    ConceptTerm,
    LastingTerm,
    Term,
    WordsTerm,
    concepts_in,
)
from gateway.consult.durations import Duration
from gateway.consult.scenario import ACUTE_DAYS, ADULT_YEARS, CHILD_BY_WORD_YEARS, CHRONIC_DAYS, Scenario
from gateway.consult.scope import Polarity
from gateway.consult.terminology.model import ConceptKind, Terminology


class Truth(StrEnum):
    """Four values: a text may leave open what it does not speak of, or speak of it unclearly."""

    YES = "yes"
    MAYBE = "maybe"
    NO = "no"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class View:
    """A scenario as one variant looks at it.

    Attributes:
        given: concepts taken as present although the text does not speak of them.
        inferred: diagnoses that the findings suggest although nobody names them.
        given_spans: how long something lasts or is past, taken as given.
        suspicion_counts: a diagnosis that is suspected counts as there: first imaging is asked on suspicion.
    """

    scenario: Scenario
    terminology: Terminology
    given: frozenset[str] = frozenset()
    inferred: frozenset[str] = frozenset()
    suspicion_counts: bool = False
    given_spans: tuple[LastingTerm, ...] = ()

    def truth(self, term: Term) -> Truth:
        """Whether it holds."""
        match term:
            case ConceptTerm():
                return self._concept(term)
            case WordsTerm():
                return self._words(term)
            case AgeTerm(least, below):
                age = self.scenario.age
                if age is None:
                    return self._age_by_words(least, below)
                return Truth.YES if least <= age < below else Truth.NO
            case LastingTerm():
                return self._lasting(term)
            case AllOf(terms):
                return _all(self.truth(one) for one in terms)
            case AnyOf(terms):
                return _any(self.truth(one) for one in terms)

    def _age_by_words(self, least: float, below: float) -> Truth:
        """A toddler is under 16, and an adult is not, though no age is told."""
        if self.scenario.present("child"):
            if least >= ADULT_YEARS:
                return Truth.NO
            if below >= CHILD_BY_WORD_YEARS and not self.scenario.polarities("adolescent"):
                return Truth.YES
        adult = self.scenario.present("adult") and not self.scenario.present("child")
        return Truth.NO if adult and below <= ADULT_YEARS else Truth.UNKNOWN

    def _concept(self, term: ConceptTerm) -> Truth:
        states = self.scenario.polarities(term.concept)
        concept = self.terminology.concepts[term.concept]
        asked = term.asked
        if (
            self.suspicion_counts
            and asked is Asked.PRESENT
            and concept.kind is ConceptKind.DIAGNOSIS
            and not concept.persists
        ):
            asked = Asked.SUSPECTED
        truth = _TRUTHS[asked](states, concept.persists)
        if term.asked is Asked.EARLIER:
            return self._earlier(term, truth)
        if truth is Truth.UNKNOWN:
            if term.asked is Asked.SUSPECTED and term.concept in self.inferred:
                return Truth.YES
            if term.asked in (Asked.PRESENT, Asked.SUSPECTED) and self._is_given(term.concept):
                return Truth.YES
        if term.fresh and truth is Truth.YES:
            old = self.scenario.present("chronic-course") and not self.scenario.present("acute-course")
            return Truth.NO if old else Truth.YES
        return truth

    def _is_given(self, concept: str) -> bool:
        return any(self.terminology.is_a(given, concept) for given in self.given)

    def _earlier(self, term: ConceptTerm, truth: Truth) -> Truth:
        if truth is not Truth.UNKNOWN:
            return truth
        if self.scenario.present("first-episode"):
            return Truth.NO
        # "another stone", "stones again": what comes back was there before.
        back = self.scenario.present("recurrent-course")
        return Truth.YES if back and self.scenario.present(term.concept) else Truth.UNKNOWN

    def _words(self, term: WordsTerm) -> Truth:
        words = self.scenario.words
        wanted = set(term.keys)
        for sentence in {word.sentence for word in words}:
            places = [
                place for place, word in enumerate(words) if word.sentence == sentence and word.key in wanted
            ]
            if {words[place].key for place in places} == wanted:
                polarity = self.scenario.scopes.polarity(places[-1], places[-1], places)
                states = frozenset() if polarity is None else frozenset({polarity})
                return _TRUTHS[term.asked](states, False)
        return Truth.UNKNOWN

    def _lasting(self, term: LastingTerm) -> Truth:
        inner = self.truth(term.term)
        if inner in (Truth.NO, Truth.UNKNOWN):
            return inner
        told = self._told_lasting(term, inner)
        return inner if told is Truth.UNKNOWN and self._is_assumed(term) else told

    def _is_assumed(self, term: LastingTerm) -> bool:
        """That it lasts or is past that long is taken as given, of it or of something wider."""
        return any(
            term.least <= one.least
            and one.most <= term.most
            and all(
                any(self.terminology.is_a(concept, wider) for wider in concepts_in(one.term))
                for concept in concepts_in(term.term)
            )
            for one in self.given_spans
        )

    def _told_lasting(self, term: LastingTerm, inner: Truth) -> Truth:
        fits = {_fits(span, term) for span in self._durations(concepts_in(term.term))}
        if fits:
            return inner if fits == {Truth.YES} else Truth.NO if fits == {Truth.NO} else Truth.MAYBE
        acute, chronic = self.scenario.present("acute-course"), self.scenario.present("chronic-course")
        if acute == chronic:
            return Truth.UNKNOWN
        # Acute means up to six weeks, chronic twelve and more.
        if acute:
            return (
                Truth.NO
                if term.least >= ACUTE_DAYS
                else inner
                if term.most >= ACUTE_DAYS - 1
                else Truth.UNKNOWN
            )
        return (
            Truth.NO if term.most < CHRONIC_DAYS else inner if term.least <= CHRONIC_DAYS else Truth.UNKNOWN
        )

    def _durations(self, concepts: Iterable[str]) -> Sequence[Duration]:
        """How long it lasts: spans in the sentences that speak of it, else of the whole text."""
        wanted = tuple(concepts)
        if any(self.terminology.concepts[concept].kind is ConceptKind.EVENT for concept in wanted):
            return self._when(wanted)
        # Of a complaint, "4 days ago" tells when it began; "2 years ago" tells of something earlier.
        told = [span for span in self.scenario.durations if not span.ago or span.days <= ACUTE_DAYS]
        # "Last week" tells when it began, where nothing tells how long it lasts.
        spans = [span for span in told if not span.by_calendar] or told
        sentences = {
            mention.sentence
            for mention in self.scenario.mentions
            if any(self.terminology.is_a(mention.concept, concept) for concept in wanted)
        }
        near = [span for span in spans if span.sentence in sentences]
        return near or spans

    def _when(self, events: Sequence[str]) -> Sequence[Duration]:
        """When an event was: of each sentence that tells it, the span nearest to it; else every span."""
        nearest = []
        for mention in self.scenario.mentions:
            if not any(
                self.terminology.is_a(mention.concept, event) or self.terminology.is_a(event, mention.concept)
                for event in events
            ):
                continue
            near = [span for span in self.scenario.durations if span.sentence == mention.sentence]
            if near:
                nearest.append(
                    min(near, key=lambda span: max(span.first - mention.last, mention.first - span.last))
                )
        return nearest or self.scenario.durations


def _fits(span: Duration, term: LastingTerm) -> Truth:
    least = span.days if span.least is None else span.least
    if term.least <= least and span.days <= term.most:
        return Truth.YES
    return Truth.NO if span.days < term.least or least > term.most else Truth.MAYBE


def _present(states: frozenset[Polarity], persists: bool) -> Truth:
    if Polarity.PRESENT in states:
        return Truth.MAYBE if Polarity.ABSENT in states else Truth.YES
    if Polarity.SUSPECTED in states:
        return Truth.MAYBE
    if Polarity.HISTORICAL in states and persists:
        return Truth.YES
    return Truth.NO if Polarity.ABSENT in states else Truth.UNKNOWN


def _suspected(states: frozenset[Polarity], _persists: bool) -> Truth:
    if states & {Polarity.PRESENT, Polarity.SUSPECTED}:
        return Truth.MAYBE if Polarity.ABSENT in states else Truth.YES
    return Truth.NO if Polarity.ABSENT in states else Truth.UNKNOWN


def _known(states: frozenset[Polarity], persists: bool) -> Truth:
    # What is only suspected is not known.
    return Truth.UNKNOWN if states == {Polarity.SUSPECTED} else _present(states, persists)


def _known_or_suspected(states: frozenset[Polarity], persists: bool) -> Truth:
    if Polarity.HISTORICAL in states and persists and Polarity.ABSENT not in states:
        return Truth.YES
    return _suspected(states, persists)


def _earlier(states: frozenset[Polarity], _persists: bool) -> Truth:
    if Polarity.HISTORICAL in states:
        return Truth.YES
    return Truth.NO if states == {Polarity.ABSENT} else Truth.UNKNOWN


def _absent(states: frozenset[Polarity], persists: bool) -> Truth:
    return _NOT[_present(states, persists)]


_NOT = {Truth.YES: Truth.NO, Truth.NO: Truth.YES, Truth.MAYBE: Truth.MAYBE, Truth.UNKNOWN: Truth.UNKNOWN}
_TRUTHS = {
    Asked.PRESENT: _present,
    Asked.KNOWN: _known,
    Asked.SUSPECTED: _suspected,
    Asked.KNOWN_OR_SUSPECTED: _known_or_suspected,
    Asked.EARLIER: _earlier,
    Asked.ABSENT: _absent,
}


def _all(truths: Iterable[Truth]) -> Truth:
    found = set(truths)
    return next(truth for truth in (Truth.NO, Truth.UNKNOWN, Truth.MAYBE, Truth.YES) if truth in found)


def _any(truths: Iterable[Truth]) -> Truth:
    found = set(truths)
    return next(truth for truth in (Truth.YES, Truth.MAYBE, Truth.UNKNOWN, Truth.NO) if truth in found)
