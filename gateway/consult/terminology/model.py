"""What the terminology says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from gateway.consult.phrases import PhraseBook


class ConceptKind(StrEnum):
    """What sort of thing a concept is."""

    FINDING = "finding"
    DIAGNOSIS = "diagnosis"
    EVENT = "event"
    COURSE = "course"
    PATIENT = "patient"
    QUESTION = "question"


@dataclass(frozen=True, slots=True)
class Concept:
    """Something a scenario can say of a patient.

    Attributes:
        names: phrases that say it. absent_names: phrases that say it is not so ("afebrile").
        is_a: wider concepts: what is a hemiparesis is a focal deficit.
        persists: once so, always so (cancer): its history counts as its presence.
        unspecific: many conditions have it; alone it suggests none of them.
        decisive: it changes which imaging is right, so a variant that does not speak of it does not fit.
        excludes: concepts that are absent where this one is present.
        suggests: diagnoses that are suspected where this one is present.
        against: diagnoses that are not inferred where this one is present.
        when: it is present where all concepts of one of these groups are.
    """

    id: str
    label: str
    kind: ConceptKind
    names: tuple[str, ...]
    absent_names: tuple[str, ...] = ()
    is_a: tuple[str, ...] = ()
    persists: bool = False
    unspecific: bool = False
    decisive: bool = False
    excludes: tuple[str, ...] = ()
    suggests: tuple[str, ...] = ()
    against: tuple[str, ...] = ()
    when: tuple[tuple[str, ...], ...] = ()


class Cue(StrEnum):
    """What a cue does to the mentions around it."""

    NEGATES_AFTER = "negates_after"
    NEGATES_BEFORE = "negates_before"
    SUSPECTS_AFTER = "suspects_after"
    SUSPECTS_BEFORE = "suspects_before"
    HISTORY_AFTER = "history_after"
    HISTORY_LIST = "history_list"
    HISTORY_BEFORE = "history_before"
    CONFIRMS_AFTER = "confirms_after"
    CONFIRMS_BEFORE = "confirms_before"
    OTHER_PERSON = "other_person"
    FAMILY_LIST = "family_list"
    THE_PATIENT = "the_patient"
    HYPOTHETICAL = "hypothetical"
    ENDS_SCOPE = "ends_scope"
    ENDS_DENIAL = "ends_denial"
    OWN_STATEMENT = "own_statement"
    NO_CUE = "no_cue"


@dataclass(frozen=True, slots=True)
class Measurement:
    """A number with a meaning, e.g. a temperature.

    Attributes:
        bands: (lowest value, highest value, concept, present) by value; bounds belong to the band.
        implausible: values outside [low, high] are not read.
    """

    id: str
    names: tuple[str, ...]
    bands: tuple[tuple[float, float, str, bool], ...]
    plausible: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Terminology:
    """All of it, compiled.

    Attributes:
        vocabulary: all words that stand in a phrase, as written, case folded.
        phrases: value = (concept id, whether the phrase says it is present).
    """

    concepts: Mapping[str, Concept]
    phrases: PhraseBook[tuple[str, bool]]
    cues: PhraseBook[Cue]
    measurements: PhraseBook[Measurement]
    aliases: Mapping[str, str]
    ancestors: Mapping[str, frozenset[str]]
    descendants: Mapping[str, frozenset[str]]
    vocabulary: frozenset[str] = field(default_factory=frozenset)

    def is_a(self, concept: str, wider: str) -> bool:
        """True when `concept` is `wider` or narrower."""
        return concept == wider or wider in self.ancestors.get(concept, frozenset())
