"""Reads the terminology's data files. Their form is explained at the top of each file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from gateway.consult.phrases import PhraseBook
from gateway.consult.terminology.model import Concept, ConceptKind, Cue, Measurement, Terminology
from gateway.consult.words import key_of
from radref.errors import PreconditionFailed

_PACKAGE = "gateway.consult.terminology"


class _Form(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _ConceptForm(_Form):
    names: tuple[str, ...] = ()
    label: str = ""
    kind: ConceptKind = ConceptKind.FINDING
    absent_names: tuple[str, ...] = ()
    is_a: tuple[str, ...] = ()
    persists: bool = False
    unspecific: bool = False
    decisive: bool = False
    excludes: tuple[str, ...] = ()
    suggests: tuple[str, ...] = ()
    against: tuple[str, ...] = ()
    when: tuple[tuple[str, ...], ...] = ()


class _BandForm(_Form):
    concept: str
    present: bool = True
    min: float = float("-inf")
    max: float = float("inf")


class _MeasurementForm(_Form):
    names: tuple[str, ...] = Field(min_length=1)
    bands: tuple[_BandForm, ...] = Field(min_length=1)
    plausible: tuple[float, float]


class _FileForm(_Form):
    """A data file; every part may be absent, a later file adds to the earlier ones."""

    concepts: dict[str, _ConceptForm] = Field(default_factory=dict)
    cues: dict[Cue, tuple[str, ...]] = Field(default_factory=dict)
    measurements: dict[str, _MeasurementForm] = Field(default_factory=dict)
    aliases: dict[str, tuple[str, ...]] = Field(default_factory=dict)


@lru_cache(maxsize=4)
def load_terminology(extra: Path | None = None) -> Terminology:
    """The terminology of this release, with a site's own files over it.

    Args:
        extra: folder of the site's own `*.yaml` files in the same form. A concept that is there already
            gains names and relations; nothing is taken away.

    Raises:
        PreconditionFailed: INVALID_STATE, a file is not in the form; says which and where.
    """
    files = [
        (entry.name, entry.read_text("utf-8"))
        for entry in sorted(resources.files(_PACKAGE).iterdir(), key=lambda entry: entry.name)
        if entry.name.endswith(".yaml")
    ]
    if extra is not None:
        own = sorted(extra.glob("*.yaml"))
        if not own:
            raise PreconditionFailed(f"{extra}: there is no terminology file (*.yaml)")
        files += [(str(file), file.read_text("utf-8")) for file in own]
    return compiled([(name, _parsed(name, text)) for name, text in files])


def _parsed(name: str, text: str) -> _FileForm:
    try:
        data: Any = yaml.safe_load(text) or {}
        return _FileForm.model_validate(data)
    except (yaml.YAMLError, ValidationError) as exc:
        raise PreconditionFailed(f"terminology file {name}: {exc}") from None


def compiled(files: Sequence[tuple[str, _FileForm]]) -> Terminology:
    """One terminology of several files."""
    merged: dict[str, Concept] = {}
    for name, file in files:
        for concept_id, form in file.concepts.items():
            merged[concept_id] = _merged(merged.get(concept_id), concept_id, form, name)
    aliases = {
        key_of(short): key_of(word)
        for _, file in files
        for word, shorts in file.aliases.items()
        for short in shorts
    }
    _check_references(merged, files)
    try:
        phrases = PhraseBook(_phrases(merged.values()), aliases)
        cues = PhraseBook(
            [(phrase, cue) for _, file in files for cue, names in file.cues.items() for phrase in names],
            aliases,
        )
        measurements = PhraseBook(
            [
                (name, _measurement(measure_id, form))
                for _, file in files
                for measure_id, form in file.measurements.items()
                for name in form.names
            ],
            aliases,
        )
        ancestors = _ancestors(merged)
    except ValueError as exc:
        raise PreconditionFailed(f"terminology: {exc}") from None
    return Terminology(
        concepts=merged,
        phrases=phrases,
        cues=cues,
        measurements=measurements,
        aliases=aliases,
        ancestors=ancestors,
        descendants=_turned(ancestors),
        vocabulary=phrases.vocabulary
        | cues.vocabulary
        | frozenset(short for _, file in files for shorts in file.aliases.values() for short in shorts),
    )


def _phrases(concepts: Iterable[Concept]) -> list[tuple[str, tuple[str, bool]]]:
    return [
        (phrase, (concept.id, present))
        for concept in concepts
        for phrases, present in ((concept.names, True), (concept.absent_names, False))
        for phrase in phrases
    ]


def _merged(known: Concept | None, concept_id: str, form: _ConceptForm, file: str) -> Concept:
    label = form.label or concept_id.replace("-", " ")
    if known is None:
        return Concept(
            id=concept_id,
            label=label,
            kind=form.kind,
            names=form.names,
            absent_names=form.absent_names,
            is_a=form.is_a,
            persists=form.persists,
            unspecific=form.unspecific,
            decisive=form.decisive,
            excludes=form.excludes,
            suggests=form.suggests,
            against=form.against,
            when=form.when,
        )
    return Concept(
        id=concept_id,
        label=form.label or known.label,
        kind=known.kind,
        names=known.names + form.names,
        absent_names=known.absent_names + form.absent_names,
        is_a=known.is_a + form.is_a,
        persists=known.persists or form.persists,
        unspecific=known.unspecific or form.unspecific,
        decisive=known.decisive or form.decisive,
        excludes=known.excludes + form.excludes,
        suggests=known.suggests + form.suggests,
        against=known.against + form.against,
        when=known.when + form.when,
    )


def _measurement(measure_id: str, form: _MeasurementForm) -> Measurement:
    bands = tuple((band.min, band.max, band.concept, band.present) for band in form.bands)
    return Measurement(measure_id, form.names, bands, form.plausible)


def _check_references(concepts: Mapping[str, Concept], files: Sequence[tuple[str, _FileForm]]) -> None:
    missing = {
        f"{concept.id} -> {other}"
        for concept in concepts.values()
        for other in (
            *concept.is_a,
            *concept.excludes,
            *concept.suggests,
            *concept.against,
            *(member for group in concept.when for member in group),
        )
        if other not in concepts
    }
    missing |= {
        f"measurement {measure_id} -> {band.concept}"
        for _, file in files
        for measure_id, form in file.measurements.items()
        for band in form.bands
        if band.concept not in concepts
    }
    if missing:
        raise PreconditionFailed(f"terminology names unknown concepts: {', '.join(sorted(missing))}")


def _ancestors(concepts: Mapping[str, Concept]) -> dict[str, frozenset[str]]:
    def wider(concept: str, seen: frozenset[str]) -> frozenset[str]:
        if concept in seen:
            raise ValueError(f"{concept} is its own wider concept")
        direct = concepts[concept].is_a
        return frozenset(direct).union(*(wider(one, seen | {concept}) for one in direct))

    return {concept: wider(concept, frozenset()) for concept in concepts}


def _turned(ancestors: Mapping[str, frozenset[str]]) -> dict[str, frozenset[str]]:
    down: dict[str, set[str]] = {concept: set() for concept in ancestors}
    for concept, wider in ancestors.items():
        for one in wider:
            down[one].add(concept)
    return {concept: frozenset(narrower) for concept, narrower in down.items()}
