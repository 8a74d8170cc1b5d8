"""Whether a document is in force, from its dates and from what other searched documents supersede. Pure.

One rule for what retrieval finds and for what a citation resolves to. A document is not yet in force before
its `effective_from` and expired from its `effective_until` on. Else it is superseded while a searched
document that is in force by its dates names it in `supersedes`, directly or through a chain: a law of 2020
for one of 2010 for one of 2000 takes the place of both, also when the one of 2010 has expired since.
Documents that name each other both count as superseded; nothing is ever dropped.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol

# Which searched documents name a document in their `supersedes`, by its id.
Superseders = Mapping[str, Sequence[str]]


class Dated(Protocol):
    """What a document's metadata says of its time; see radref.api.common.v1.DocumentMetadata."""

    @property
    def effective_from(self) -> datetime | None: ...

    @property
    def effective_until(self) -> datetime | None: ...

    @property
    def supersedes(self) -> Sequence[str]: ...


class Validity(StrEnum):
    """Names equal radref.api.common.v1.Validity without prefix, lower-cased."""

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


def superseders_of(searched: Mapping[str, Dated]) -> Superseders:
    """What the searched documents say of others."""
    named: defaultdict[str, list[str]] = defaultdict(list)
    for document_id in sorted(searched):
        for older in dict.fromkeys(searched[document_id].supersedes):
            if older != document_id:
                named[older].append(document_id)
    return {older: tuple(ids) for older, ids in named.items()}


def standing(
    document_id: str,
    document: Dated,
    *,
    searched: Mapping[str, Dated],
    superseders: Superseders,
    now: datetime,
) -> Standing:
    """Whether a document is in force at `now`, and what takes its place.

    Of several documents that could take its place the one that nothing takes the place of goes first, then
    the nearest in the chain, then the lowest id.

    Args:
        document: itself; it need not be searched.
        searched: the searched documents, at least those that supersede any.
        superseders: `superseders_of(searched)`.
    """
    dated = _by_dates(document, now)
    taking = list(_taking(document_id, searched, superseders, now))
    if not taking:
        return Standing(dated)
    successor = min(taking, key=lambda newer: any(True for _ in _taking(newer, searched, superseders, now)))
    validity = Validity.SUPERSEDED if dated is Validity.IN_FORCE else dated
    return Standing(validity, successor, searched[successor].effective_from)


def _by_dates(document: Dated, now: datetime) -> Validity:
    if document.effective_until is not None and now >= document.effective_until:
        return Validity.EXPIRED
    if document.effective_from is not None and now < document.effective_from:
        return Validity.NOT_YET
    return Validity.IN_FORCE


def _taking(
    document_id: str, searched: Mapping[str, Dated], superseders: Superseders, now: datetime
) -> Iterator[str]:
    """Documents in force that supersede this one, the nearest first; cycles end."""
    seen = {document_id}
    nearest: Sequence[str] = (document_id,)
    while nearest:
        further = sorted({newer for known in nearest for newer in superseders.get(known, ())} - seen)
        yield from (newer for newer in further if _by_dates(searched[newer], now) is Validity.IN_FORCE)
        seen.update(further)
        nearest = further
