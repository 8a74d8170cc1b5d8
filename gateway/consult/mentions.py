"""Where a scenario speaks of a concept, and whether it says that it is so."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gateway.consult.phrases import Found
from gateway.consult.scope import Polarity, Scopes
from gateway.consult.terminology.model import ConceptKind, Terminology
from gateway.consult.words import Word


@dataclass(frozen=True, slots=True)
class Mention:
    """A place of the text, words [first, last], that speaks of a concept.

    Attributes:
        evidence: the words as written.
        confirmed: it is no suspicion any more.
    """

    concept: str
    polarity: Polarity
    first: int
    last: int
    sentence: int
    evidence: str
    confirmed: bool = False


def mentions_of(
    text: str, words: Sequence[Word], terminology: Terminology, scopes: Scopes
) -> tuple[Mention, ...]:
    """Every mention, in the order of the text; what is said of another person is left out."""
    found = _longest(terminology.phrases.find(words))
    mentions = []
    for hit in found:
        concept, says_present = hit.value
        diagnosis = terminology.concepts[concept].kind is ConceptKind.DIAGNOSIS
        others = {
            index
            for other in found
            if other.last < hit.first or other.first > hit.last
            for index in range(other.first, other.last + 1)
            # "HIV test negative": the test is no finding of its own.
            if terminology.concepts[other.value[0]].kind is not ConceptKind.QUESTION
        }
        overlapping = {
            index
            for other in found
            if other.first <= hit.last and hit.first <= other.last
            for index in range(other.first, other.last + 1)
        }
        polarity = scopes.polarity(
            hit.first, hit.last, others - overlapping, asked=diagnosis, gapped=hit.gapped
        )
        if polarity is None:
            continue
        if not says_present:
            # "no fever, normal tone": the denial before is another item's. Only "not afebrile" turns it.
            turned = polarity is Polarity.ABSENT and scopes.denied_at_once(hit.first)
            polarity = Polarity.PRESENT if turned else Polarity.ABSENT
        start, end = words[hit.first].start, words[hit.last].end
        mentions.append(
            Mention(
                concept,
                polarity,
                hit.first,
                hit.last,
                words[hit.first].sentence,
                text[start:end],
                scopes.is_confirmed(hit.first, hit.last),
            )
        )
    return tuple(mentions)


def _longest(
    found: Iterable[Found[tuple[str, bool]]],
) -> list[Found[tuple[str, bool]]]:
    """Without those that stand inside a longer contiguous phrase."""
    hits = list(found)
    solid = [hit for hit in hits if not hit.gapped]

    def inside(hit: Found[tuple[str, bool]]) -> bool:
        return any(
            other.first <= hit.first and hit.last <= other.last and other.length > hit.length
            for other in solid
        )

    kept = [hit for hit in hits if not inside(hit)]
    # One phrase may be written in several ways over the same words.
    unique = {(hit.value, hit.first, hit.last): hit for hit in kept}
    return sorted(unique.values(), key=lambda hit: (hit.first, hit.last))
