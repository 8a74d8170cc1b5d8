"""The data of the terminology: every name is found and means its concept, and means no other one."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from functools import lru_cache
from importlib import resources
from itertools import pairwise

import pytest
import yaml

from gateway.consult.mentions import mentions_of
from gateway.consult.phrases import parsed
from gateway.consult.scope import Polarity, Scopes
from gateway.consult.terminology.load import load_terminology
from gateway.consult.terminology.model import Concept, ConceptKind
from gateway.consult.words import Kind, words_of

_TERMINOLOGY = load_terminology()
_CHOICE = re.compile(r"\(([^()\[\]]*)\)|\[([^()\[\]]*)\]")
_NUMBER = "5"
# Of one name: a complaint may be told by its usual cause, a finding and a treatment tell of the disease too.
_MAY_SHARE = (
    {"low-back-pain", "lumbar-strain"},
    {"low-back-pain", "sciatica"},
    {"focal-deficit", "progressive-motor-deficit"},
    {"neck-stiffness", "sinusitis"},
    {"osteomyelitis", "spinal-infection"},
    {"earlier-urinary-stone", "urological-procedure"},
)


@lru_cache(maxsize=8192)
def _expansions(phrase: str) -> tuple[str, ...]:
    """Texts that a phrase stands for, without gaps: every alternative of every bracket at least once."""
    texts: dict[str, None] = {}
    turn, turns = 0, 1
    while turn < turns:
        text = phrase
        while match := _CHOICE.search(text):
            fixed, optional = match.groups()
            alternatives = fixed.split("|") if fixed is not None else ["", *optional.split("|")]
            turns = max(turns, len(alternatives))
            text = f"{text[: match.start()]} {alternatives[turn % len(alternatives)]} {text[match.end() :]}"
        texts[" ".join(text.replace("..", " ").replace("#", _NUMBER).split())] = None
        turn += 1
    return tuple(texts)


@lru_cache(maxsize=4096)
def _keys(text: str) -> tuple[str, ...]:
    return tuple(word.key for word in words_of(text, _TERMINOLOGY.aliases) if word.kind is not Kind.BREAK)


def _names(concept: Concept) -> Iterator[tuple[str, bool]]:
    yield from ((phrase, True) for phrase in concept.names)
    yield from ((phrase, False) for phrase in concept.absent_names)


_CONCEPTS = pytest.mark.parametrize(
    "concept", _TERMINOLOGY.concepts.values(), ids=lambda concept: str(concept.id)
)


@_CONCEPTS
def test_every_name_is_found_and_means_its_concept(concept: Concept) -> None:
    for phrase, present in _names(concept):
        parsed(phrase, _TERMINOLOGY.aliases)
        for text in _expansions(phrase):
            words = words_of(text, _TERMINOLOGY.aliases)
            own = [
                one
                for one in mentions_of(text, words, _TERMINOLOGY, Scopes(words, _TERMINOLOGY.cues))
                if one.concept == concept.id and (one.first, one.last) == (0, len(words) - 1)
            ]
            assert own, f"{text!r} of {phrase!r} is not found"
            denied = {one.polarity is Polarity.ABSENT for one in own}
            assert (not present) in denied, f"{text!r} of {phrase!r} is read as {own}"


def test_every_concept_can_be_said() -> None:
    silent = [one.id for one in _TERMINOLOGY.concepts.values() if not one.names and not one.when]
    assert silent == []


def test_a_label_is_plain_words() -> None:
    assert [
        one.id for one in _TERMINOLOGY.concepts.values() if re.search(r"[|()\[\]#]|\.\.", one.label)
    ] == []


def test_one_name_means_one_concept_or_a_narrower_one_of_it() -> None:
    said: defaultdict[tuple[tuple[str, ...], bool], set[str]] = defaultdict(set)
    for concept in _TERMINOLOGY.concepts.values():
        for phrase, present in _names(concept):
            for text in _expansions(phrase):
                said[_keys(text), present].add(concept.id)
    shared = {
        names: ids
        for names, ids in said.items()
        if not _one_line(about := {one for one in ids if _is_clinical(one)}) and about not in _MAY_SHARE
    }
    assert shared == {}


def _is_clinical(concept: str) -> bool:
    return _TERMINOLOGY.concepts[concept].kind not in (ConceptKind.QUESTION, ConceptKind.COURSE)


def _one_line(ids: set[str]) -> bool:
    """Whether each of them is a narrower or a wider concept of each other."""
    return all(
        _TERMINOLOGY.is_a(one, other) or _TERMINOLOGY.is_a(other, one)
        for one, other in pairwise(sorted(ids, key=lambda one: len(_TERMINOLOGY.ancestors[one])))
    )


def test_only_diagnoses_are_argued_against_and_what_is_suspected_is_no_population() -> None:
    concepts = _TERMINOLOGY.concepts
    assert [
        (one.id, other)
        for one in concepts.values()
        for other in one.suggests
        if concepts[other].kind in (ConceptKind.PATIENT, ConceptKind.QUESTION)
    ] == []
    assert [
        (one.id, other)
        for one in concepts.values()
        for other in one.against
        if concepts[other].kind is not ConceptKind.DIAGNOSIS
    ] == []


def test_a_file_explains_itself() -> None:
    for entry in resources.files("gateway.consult.terminology").iterdir():
        if entry.name.endswith(".yaml"):
            assert yaml.safe_load(entry.read_text("utf-8")), entry.name
