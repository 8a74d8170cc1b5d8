"""Our records as points of a Qdrant server, and back; payloads are in `retrieval_svc.store.payloads`."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any, TypeVar

from qdrant_client import models

from radref.errors import PreconditionFailed
from retrieval_svc.bm25 import SparseVector
from retrieval_svc.model import DocumentRecord, IndexedChild, IndexedParent, IndexIdentity, StageRecord
from retrieval_svc.statistics import StageStatistics
from retrieval_svc.store import payloads
from retrieval_svc.store.payloads import DENSE, SPARSE, Payload
from retrieval_svc.store.protocol import GenerationState, RetiredGeneration
from retrieval_svc.store.server.failures import damaged

T = TypeVar("T")

# Raise it when collections or payloads change so that older code must not read them.
FORMAT_VERSION = 1

_NAMESPACE = uuid.UUID("c2b0a8f6-3d0d-5a55-8a35-52a7fa7b9a11")
IDENTITY_ID = str(uuid.uuid5(_NAMESPACE, "identity"))
GENERATIONS_ID = str(uuid.uuid5(_NAMESPACE, "generations"))

# What must be there, and of which type, so that a record can be made. Over the wire a value may be missing,
# or be something else, where somebody else writes to the collection.
CHILD: Mapping[str, type] = {
    **dict.fromkeys(("stage", "document_id", "citation_id", "parent_text"), str),
    **dict.fromkeys(("ordinal", "start", "end"), int),
    "section_path": list,
}
PLACE: Mapping[str, type] = dict.fromkeys(
    ("stage", "citation_id", "document_id", "topic", "parent_text"), str
)
PARENT: Mapping[str, type] = {
    **dict.fromkeys(("stage", "citation_id", "text", "terms"), str),
    "ordinal": int,
    "section_path": list,
}
STAGE: Mapping[str, type] = {
    **dict.fromkeys(("stage", "document_id"), str),
    **dict.fromkeys(("version", "parents", "children", "sequence"), int),
    "metadata": dict,
}
STATISTICS: Mapping[str, type] = {"stage": str, "statistics": dict}
DOCUMENT: Mapping[str, type] = {
    **dict.fromkeys(("document_id", "stage", "changed_at"), str),
    "sequence": int,
}


def made_from(payload: Payload | None, types: Mapping[str, type], make: Callable[[Payload], T]) -> T:
    """What `make` reads from a payload.

    Raises:
        Unavailable: the payload is not what was written.
    """
    if payload is None or not all(isinstance(payload.get(key), kind) for key, kind in types.items()):
        raise damaged()
    try:
        return make(payload)
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as exc:
        raise damaged() from exc


def child_point(record: StageRecord, indexed: IndexedChild) -> models.PointStruct:
    vectors: dict[str, Any] = {DENSE: list(indexed.dense), **_sparse(indexed.sparse)}
    payload = payloads.child_payload(record, indexed)
    return models.PointStruct(id=payloads.child_id(indexed.child), vector=vectors, payload=payload)


def parent_point(record: StageRecord, indexed: IndexedParent) -> models.PointStruct:
    return models.PointStruct(
        id=payloads.parent_id(indexed.parent.key),
        vector=_sparse(indexed.sparse),
        payload=payloads.parent_payload(record, indexed),
    )


def stage_point(record: StageRecord, statistics: StageStatistics) -> models.PointStruct:
    return _bare(payloads.stage_id(record.stage), payloads.stage_payload(record, statistics))


def document_point(record: DocumentRecord) -> models.PointStruct:
    return _bare(payloads.document_id(record.document_id), payloads.document_payload(record))


def identity_point(identity: IndexIdentity) -> models.PointStruct:
    return _bare(
        IDENTITY_ID, {"kind": "identity", "format_version": FORMAT_VERSION, "identity": asdict(identity)}
    )


def identity_from(payload: Payload) -> IndexIdentity:
    """Inverse of `identity_point`.

    Raises:
        PreconditionFailed: of another format version, or unreadable (INVALID_STATE).
    """
    return _described(payload, lambda value: IndexIdentity(**value["identity"]))


def state_point(state: GenerationState) -> models.PointStruct:
    value = asdict(state)
    value["retired"] = list(value["retired"])
    return _bare(GENERATIONS_ID, {"format_version": FORMAT_VERSION, **value})


def state_from(payload: Payload) -> GenerationState:
    """Inverse of `state_point`.

    Raises:
        PreconditionFailed: of another format version, or unreadable (INVALID_STATE).
    """
    return _described(
        payload,
        lambda value: GenerationState(
            searched=value["searched"],
            building=value["building"],
            building_fingerprint=value["building_fingerprint"],
            retired=tuple(RetiredGeneration(**one) for one in value["retired"]),
        ),
    )


def _described(payload: Payload, make: Callable[[Payload], T]) -> T:
    version = payload.get("format_version")
    if isinstance(version, int) and version != FORMAT_VERSION:
        raise PreconditionFailed(
            f"the index in the vector store has format {version}, this release reads {FORMAT_VERSION}: "
            "set another store.prefix and index the documents again"
        )
    try:
        return make({**payload, "format_version": int(payload["format_version"])})
    except (KeyError, TypeError, ValueError) as exc:
        raise PreconditionFailed(
            "the description of the index in the vector store cannot be read; restore it from a snapshot"
        ) from exc


def _bare(identifier: str, payload: Payload) -> models.PointStruct:
    return models.PointStruct(id=identifier, vector={}, payload=payload)


def _sparse(vector: SparseVector) -> dict[str, Any]:
    if not vector.indices:
        return {}
    return {SPARSE: models.SparseVector(indices=list(vector.indices), values=list(vector.values))}
