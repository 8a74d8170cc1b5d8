"""Our records as points of the embedded engine, and back. Keys are part of the format version."""

from __future__ import annotations

import uuid
from dataclasses import asdict
from datetime import datetime
from typing import Any

import qdrant_edge as edge

from radref.errors import Unavailable
from retrieval_svc.model import (
    Child,
    DocumentRecord,
    IndexedChild,
    Metadata,
    Parent,
    ParentKey,
    StageRecord,
)
from retrieval_svc.terms import TermCounts, decode_ids, encode_ids

DENSE = "dense"
SPARSE = "bm25"

# Point ids are UUIDv5 in this namespace, so that writing a point again replaces it.
_NAMESPACE = uuid.UUID("6b0f4d52-9a5e-5c1b-8f39-7a1d5e0c2b64")

Payload = dict[str, Any]


def parent_id(key: ParentKey) -> str:
    return str(uuid.uuid5(_NAMESPACE, f"{key.stage}/{key.citation_id}"))


def child_id(child: Child) -> str:
    return str(uuid.uuid5(_NAMESPACE, f"{child.parent.stage}/{child.parent.citation_id}/{child.ordinal}"))


def document_id(identifier: str) -> str:
    return str(uuid.uuid5(_NAMESPACE, f"document/{identifier}"))


def stage_id(stage: str) -> str:
    return str(uuid.uuid5(_NAMESPACE, f"stage/{stage}"))


def language_range(tag: str) -> list[str]:
    """A language tag and its prefixes in lower case, "sr-Latn-RS" -> sr, sr-latn, sr-latn-rs.

    A filter "sr" then matches all of them by equality (basic filtering, RFC 4647 section 3.3.1).
    """
    parts = tag.lower().split("-")
    return ["-".join(parts[: length + 1]) for length in range(len(parts))]


def child_point(record: StageRecord, indexed: IndexedChild) -> edge.Point:
    child = indexed.child
    vectors: dict[str, Any] = {DENSE: list(indexed.dense)}
    if indexed.sparse.indices:
        vectors[SPARSE] = edge.SparseVector(list(indexed.sparse.indices), list(indexed.sparse.values))
    payload = {
        "stage": child.parent.stage,
        "document_id": child.document_id,
        "version": record.version,
        "citation_id": child.parent.citation_id,
        "ordinal": child.ordinal,
        "start": child.start,
        "end": child.end,
        "section_path": list(child.section_path),
        "parent_text": child.parent_text,
        "language": language_range(record.metadata.language),
        "source_category": record.metadata.source_category,
        "year": record.metadata.year,
    }
    return edge.Point(child_id(child), vectors, payload)


def payload_of(record: edge.Record) -> Payload:
    """Payload of a record that was read with it."""
    if record.payload is None:
        raise Unavailable("the vector store returned a record without content; it may be damaged")
    return record.payload


# What `child_from` reads; turning a payload into Python objects is the dearest part of a search.
CHILD_KEYS = ("stage", "document_id", "citation_id", "ordinal", "start", "end", "section_path", "parent_text")


def child_from(payload: Payload) -> Child:
    return Child(
        parent=ParentKey(payload["stage"], payload["citation_id"]),
        document_id=payload["document_id"],
        ordinal=payload["ordinal"],
        start=payload["start"],
        end=payload["end"],
        section_path=tuple(payload["section_path"]),
        # Points written before there were keys have none.
        parent_text=payload.get("parent_text", ""),
    )


def parent_point(document: str, parent: Parent) -> edge.Point:
    payload = {
        "stage": parent.key.stage,
        "citation_id": parent.key.citation_id,
        "document_id": document,
        "ordinal": parent.ordinal,
        "text": parent.text,
        "section_path": list(parent.section_path),
        "pages": list(parent.pages) if parent.pages else None,
        "terms": encode_ids(parent.terms),
    }
    return edge.Point(parent_id(parent.key), {}, payload)


def parent_from(payload: Payload) -> Parent:
    pages = payload["pages"]
    return Parent(
        key=ParentKey(payload["stage"], payload["citation_id"]),
        ordinal=payload["ordinal"],
        text=payload["text"],
        section_path=tuple(payload["section_path"]),
        pages=(pages[0], pages[1]) if pages else None,
        terms=decode_ids(payload["terms"]),
    )


def stage_point(record: StageRecord, terms: TermCounts) -> edge.Point:
    metadata = asdict(record.metadata)
    for name in ("effective_from", "effective_until"):
        metadata[name] = metadata[name].isoformat() if metadata[name] else None
    metadata["supersedes"] = list(metadata["supersedes"])
    payload = {
        "kind": "stage",
        "stage": record.stage,
        "document_id": record.document_id,
        "version": record.version,
        "metadata": metadata,
        "parents": record.parents,
        "children": record.children,
        "sequence": record.sequence,
        "terms": terms.encode(),
    }
    return edge.Point(stage_id(record.stage), {}, payload)


def stage_from(payload: Payload) -> StageRecord:
    metadata = dict(payload["metadata"])
    for name in ("effective_from", "effective_until"):
        metadata[name] = datetime.fromisoformat(metadata[name]) if metadata[name] else None
    metadata["supersedes"] = tuple(metadata["supersedes"])
    return StageRecord(
        stage=payload["stage"],
        document_id=payload["document_id"],
        version=payload["version"],
        metadata=Metadata(**metadata),
        parents=payload["parents"],
        children=payload["children"],
        sequence=payload["sequence"],
    )


def document_point(record: DocumentRecord) -> edge.Point:
    payload = {
        "kind": "document",
        "document_id": record.document_id,
        "stage": record.stage,
        "sequence": record.sequence,
        "changed_at": record.changed_at.isoformat(),
    }
    return edge.Point(document_id(record.document_id), {}, payload)


def document_from(payload: Payload) -> DocumentRecord:
    return DocumentRecord(
        document_id=payload["document_id"],
        stage=payload["stage"],
        sequence=payload["sequence"],
        changed_at=datetime.fromisoformat(payload["changed_at"]),
    )
