"""A scenario as facts: what holds, what does not, what is suspected, what was so earlier."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from gateway.consult import patient
from gateway.consult.durations import Duration, durations_of
from gateway.consult.measurements import measured_in
from gateway.consult.mentions import Mention, mentions_of
from gateway.consult.obstetrics import gestation_in
from gateway.consult.scope import Polarity, Scopes
from gateway.consult.spelling import corrected
from gateway.consult.terminology.model import ConceptKind, Terminology
from gateway.consult.words import Word, words_of

ADULT_YEARS = 18.0
# Who is called a boy, a girl or a child, and no adolescent, is younger than this.
CHILD_BY_WORD_YEARS = 16.0
# ACR and most guidelines call low back pain acute up to 4-6 weeks, and pain chronic from 12 weeks (IASP) on.
ACUTE_DAYS = 42.0
CHRONIC_DAYS = 84.0
# Ages at which a patient may be pregnant, years (WHO: reproductive age is 15-49; wider, to be safe).
FERTILE_YEARS = (12.0, 55.0)

# Days.
_MINUTE = 1.01 / 1440
_SEXES = (patient.Sex.FEMALE.value, patient.Sex.MALE.value)


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact as shown to the user."""

    concept: str
    polarity: Polarity
    evidence: str


@dataclass(frozen=True, slots=True)
class Scenario:
    """What was read. Built by `read_scenario`.

    Attributes:
        states: by concept, every polarity it was mentioned with, wider concepts included.
        mentions: as they stand in the text.
        durations: spans of time that are neither ages nor gestations.
        age: years, None = not told.
    """

    text: str
    words: tuple[Word, ...]
    states: Mapping[str, frozenset[Polarity]]
    mentions: tuple[Mention, ...]
    durations: tuple[Duration, ...]
    facts: tuple[Fact, ...]
    scopes: Scopes
    sex: patient.Sex = patient.Sex.UNKNOWN
    age: float | None = None
    evidence: Mapping[str, str] = field(default_factory=dict)

    def polarities(self, concept: str) -> frozenset[Polarity]:
        return self.states.get(concept, frozenset())

    def confirmed(self, concept: str, terminology: Terminology) -> bool:
        """It is there and no suspicion any more."""
        return any(
            mention.confirmed
            and mention.polarity is Polarity.PRESENT
            and terminology.is_a(mention.concept, concept)
            for mention in self.mentions
        )

    def present(self, concept: str) -> bool:
        """It holds, and nothing in the text says otherwise."""
        states = self.polarities(concept)
        return Polarity.PRESENT in states and Polarity.ABSENT not in states

    @property
    def may_be_pregnant(self) -> bool:
        """Pregnancy is not told, and neither sex nor age speaks against it."""
        if self.polarities("pregnancy") or self.sex is patient.Sex.MALE:
            return False
        return self.age is None or FERTILE_YEARS[0] <= self.age <= FERTILE_YEARS[1]


def read_scenario(text: str, terminology: Terminology) -> Scenario:
    """The facts of a scenario."""
    words = corrected(words_of(text, terminology.aliases), terminology.vocabulary, terminology.aliases)
    # Words of sex stand in a text for others too; `patient.sex_of` tells whose they are.
    scopes = Scopes(words, terminology.cues)
    mentions = [one for one in mentions_of(text, words, terminology, scopes) if one.concept not in _SEXES]
    taken: list[tuple[int, int]] = []

    def add(concept: str, polarity: Polarity, first: int, last: int) -> None:
        start, end = words[first].start, words[last].end
        mentions.append(Mention(concept, polarity, first, last, words[first].sentence, text[start:end]))

    for measured in measured_in(words, terminology.measurements):
        add(
            measured.concept,
            Polarity.PRESENT if measured.present else Polarity.ABSENT,
            measured.first,
            measured.last,
        )
    for told in gestation_in(words):
        whose = scopes.polarity(told.first, told.last, ())
        if whose is not None:
            add(told.concept, whose, told.first, told.last)
        taken.append((words[told.first].start, words[told.last].end))
    age = patient.age_of(text)
    if age is not None:
        start = text.find(age.evidence)
        taken.append((start, start + len(age.evidence)))
    durations = durations_of(text, words, taken)
    sex = patient.sex_of(text)
    states = _states(mentions, terminology)
    _add_patient(states, age, sex, terminology)
    _add_course(states, durations, mentions, terminology)
    _derive(states, terminology)
    return Scenario(
        text=text,
        words=words,
        states={concept: frozenset(polarities) for concept, polarities in states.items()},
        mentions=tuple(mentions),
        durations=durations,
        facts=_facts(mentions, states, age, sex, terminology),
        scopes=scopes,
        sex=sex,
        age=age.years if age else None,
        evidence={mention.concept: mention.evidence for mention in reversed(mentions)},
    )


_States = defaultdict[str, set[Polarity]]


def _states(mentions: Iterable[Mention], terminology: Terminology) -> _States:
    states: _States = defaultdict(set)
    for mention in mentions:
        _hold(states, mention.concept, mention.polarity, terminology)
    own = {concept: set(polarities) for concept, polarities in states.items()}
    for concept, polarities in own.items():
        if polarities == {Polarity.ABSENT}:
            # What is wider absent is narrower absent, unless the text says otherwise of that.
            for narrower in terminology.descendants.get(concept, ()):
                if not states.get(narrower):
                    states[narrower].add(Polarity.ABSENT)
    return states


def _hold(states: _States, concept: str, polarity: Polarity, terminology: Terminology) -> None:
    states[concept].add(polarity)
    if polarity is not Polarity.ABSENT:
        for wider in terminology.ancestors.get(concept, ()):
            states[wider].add(polarity)


def _add_patient(
    states: _States, age: patient.Told | None, sex: patient.Sex, terminology: Terminology
) -> None:
    if age is not None:
        child = age.years < ADULT_YEARS
        _set(states, "child", present=child)
        _set(states, "adult", present=not child)
    elif Polarity.PRESENT in states["child"]:
        _set(states, "adult", present=False)
    if sex is not patient.Sex.UNKNOWN:
        for one in (patient.Sex.FEMALE, patient.Sex.MALE):
            _set(states, one.value, present=sex is one)
    too_old = age is not None and age.years > FERTILE_YEARS[1]
    if (sex is patient.Sex.MALE or too_old) and not states["pregnancy"]:
        for concept in ("pregnancy", *terminology.descendants.get("pregnancy", ()), "postpartum"):
            states[concept].add(Polarity.ABSENT)


def _set(states: _States, concept: str, *, present: bool) -> None:
    states[concept] = {Polarity.PRESENT if present else Polarity.ABSENT}


def _add_course(
    states: _States, durations: Iterable[Duration], mentions: Iterable[Mention], terminology: Terminology
) -> None:
    lasting = [
        duration
        for duration in durations
        if not duration.by_calendar and (not duration.ago or duration.days <= ACUTE_DAYS)
    ]
    for duration in lasting:
        if duration.days <= _MINUTE:
            _hold(states, "within-a-minute", Polarity.PRESENT, terminology)
        elif duration.days >= CHRONIC_DAYS:
            _hold(states, "chronic-course", Polarity.PRESENT, terminology)
        elif duration.days <= ACUTE_DAYS:
            _hold(states, "acute-course", Polarity.PRESENT, terminology)


def _derive(states: _States, terminology: Terminology) -> None:
    """What follows: concepts made of others, suspicions, exclusions."""
    # Twice: one may follow from another.
    for _ in range(2):
        for concept in terminology.concepts.values():
            if any(all(_holds(states, member) for member in group) for group in concept.when):
                _hold(states, concept.id, Polarity.PRESENT, terminology)
    for concept in terminology.concepts.values():
        polarities = states.get(concept.id, set())
        if polarities & {Polarity.PRESENT, Polarity.SUSPECTED} and Polarity.ABSENT not in polarities:
            for suspected in concept.suggests:
                if not states.get(suspected):
                    _hold(states, suspected, Polarity.SUSPECTED, terminology)
        if Polarity.PRESENT in polarities or (Polarity.HISTORICAL in polarities and concept.persists):
            for excluded in concept.excludes:
                states[excluded].add(Polarity.ABSENT)


def _holds(states: _States, concept: str) -> bool:
    polarities = states.get(concept, set())
    return Polarity.PRESENT in polarities and Polarity.ABSENT not in polarities


def _facts(
    mentions: Iterable[Mention],
    states: _States,
    age: patient.Told | None,
    sex: patient.Sex,
    terminology: Terminology,
) -> tuple[Fact, ...]:
    facts = []
    if age is not None:
        facts.append(Fact(f"age {age.years:g} years", Polarity.PRESENT, age.evidence))
    if sex is not patient.Sex.UNKNOWN:
        facts.append(Fact(sex.value, Polarity.PRESENT, ""))
    for mention in sorted(mentions, key=lambda mention: (mention.first, -mention.last)):
        concept = terminology.concepts[mention.concept]
        if concept.kind is not ConceptKind.QUESTION:
            facts.append(Fact(concept.label, mention.polarity, mention.evidence))
    return tuple(dict.fromkeys(facts))
