"""Whether a cited document is in force, by the rules the retrieval service has for passages it finds. Pure.

A document is not in force before its `effective_from` and from its `effective_until` on. Else it is
superseded while a searched document that is in force by its dates names it, directly or through a chain.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from ingest_svc.metadata import DocumentMetadata


class Validity(StrEnum):
    """Names equal radref.api.common.v1.Validity without prefix, lower-cased."""

    IN_FORCE = "in_force"
    NOT_YET = "not_yet"
    EXPIRED = "expired"
    SUPERSEDED = "superseded"


@dataclass(frozen=True, slots=True)
class Standing:
    """Whether a document is in force, and the document that takes its place ("" = none does)."""

    validity: Validity
    superseded_by: str = ""


def standing(
    document_id: str, metadata: DocumentMetadata, superseding: Mapping[str, DocumentMetadata], now: datetime
) -> Standing:
    """Whether a document is in force at `now`.

    Of several that could take its place the one that nothing takes the place of goes first, then the nearest
    in the chain, then the lowest id.

    Args:
        metadata: of the document.
        superseding: searched documents that supersede any other, by id.
    """
    taking = list(_taking(document_id, superseding, now))
    dated = _by_dates(metadata, now)
    if not taking:
        return Standing(dated)
    successor = min(taking, key=lambda newer: any(True for _ in _taking(newer, superseding, now)))
    return Standing(Validity.SUPERSEDED if dated is Validity.IN_FORCE else dated, successor)


def _by_dates(metadata: DocumentMetadata, now: datetime) -> Validity:
    if metadata.effective_until is not None and now >= metadata.effective_until:
        return Validity.EXPIRED
    if metadata.effective_from is not None and now < metadata.effective_from:
        return Validity.NOT_YET
    return Validity.IN_FORCE


def _taking(document_id: str, superseding: Mapping[str, DocumentMetadata], now: datetime) -> Iterator[str]:
    """Documents in force that supersede this one, the nearest first; cycles end."""
    seen = {document_id}
    nearest = {document_id}
    while nearest:
        further = sorted(
            newer
            for newer, metadata in superseding.items()
            if newer not in seen and not nearest.isdisjoint(metadata.supersedes)
        )
        yield from (newer for newer in further if _by_dates(superseding[newer], now) is Validity.IN_FORCE)
        seen.update(further)
        nearest = set(further)
