"""Whether a document is in force, from its dates and from what other searched documents supersede. Pure.

A document is not yet in force before its `effective_from` and expired from its `effective_until` on. Else it
is superseded while a searched document that is in force by its dates names it in `supersedes`, directly or
through a chain: a law of 2020 for one of 2010 for one of 2000 takes the place of both, also when the one of
2010 has expired since. Documents that name each other both count as superseded; nothing is ever dropped.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from retrieval_svc.model import Metadata, StageRecord

# Which documents name a document in their `supersedes`, by its id.
Superseders = Mapping[str, Sequence[str]]


class Validity(StrEnum):
    """Names as in radref.api.common.v1.Validity."""

    IN_FORCE = "in_force"
    NOT_YET = "not_yet"
    EXPIRED = "expired"
    SUPERSEDED = "superseded"


@dataclass(frozen=True, slots=True)
class Standing:
    """Whether a document is in force.

    Attributes:
        superseded_by: the document that takes its place; empty = none does.
        superseded_at: since when, where that document says so.
    """

    validity: Validity
    superseded_by: str = ""
    superseded_at: datetime | None = None

    @property
    def in_force(self) -> bool:
        return self.validity is Validity.IN_FORCE


def superseders_of(active: Mapping[str, StageRecord]) -> Superseders:
    """What the searched documents say of each other; of documents that are not searched nothing is kept."""
    named: defaultdict[str, list[str]] = defaultdict(list)
    for document_id in sorted(active):
        for older in active[document_id].metadata.supersedes:
            if older != document_id and older in active and document_id not in named[older]:
                named[older].append(document_id)
    return {older: tuple(ids) for older, ids in named.items()}


def standing(
    document_id: str, active: Mapping[str, StageRecord], superseders: Superseders, now: datetime
) -> Standing:
    """Whether a searched document is in force at `now`, and what takes its place.

    Of several documents that could take its place the one that nothing takes the place of goes first, then
    the nearest in the chain, then the lowest id.
    """
    dated = _by_dates(active[document_id].metadata, now)
    taking = [
        newer
        for newer in _chain(document_id, superseders)
        if _by_dates(active[newer].metadata, now) is Validity.IN_FORCE
    ]
    if not taking:
        return Standing(dated)
    successor = min(taking, key=lambda newer: _is_superseded(newer, active, superseders, now))
    validity = Validity.SUPERSEDED if dated is Validity.IN_FORCE else dated
    return Standing(validity, successor, active[successor].metadata.effective_from)


def _by_dates(metadata: Metadata, now: datetime) -> Validity:
    if metadata.effective_until is not None and now >= metadata.effective_until:
        return Validity.EXPIRED
    if metadata.effective_from is not None and now < metadata.effective_from:
        return Validity.NOT_YET
    return Validity.IN_FORCE


def _chain(document_id: str, superseders: Superseders) -> Iterator[str]:
    """Every document that supersedes this one, the nearest first; cycles end."""
    seen = {document_id}
    nearest: Sequence[str] = (document_id,)
    while nearest:
        further = sorted({newer for known in nearest for newer in superseders.get(known, ())} - seen)
        yield from further
        seen.update(further)
        nearest = further


def _is_superseded(
    document_id: str, active: Mapping[str, StageRecord], superseders: Superseders, now: datetime
) -> bool:
    return any(
        _by_dates(active[newer].metadata, now) is Validity.IN_FORCE
        for newer in _chain(document_id, superseders)
    )
