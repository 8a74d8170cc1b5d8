"""Our records as payloads of points, and back: the same for every engine of Qdrant.

Keys are part of the format version: raise that of every adapter when they change so that older code must not
read them.
"""

from __future__ import annotations

import base64
import uuid
from dataclasses import asdict
from datetime import datetime
from functools import lru_cache
from typing import Any

import numpy as np

from retrieval_svc.language_tags import language_range
from retrieval_svc.model import (
    Child,
    DocumentRecord,
    IndexedChild,
    IndexedParent,
    Metadata,
    Parent,
    ParentKey,
    ParentPlace,
    StageRecord,
)
from retrieval_svc.statistics import StageStatistics
from retrieval_svc.terms import TermCounts, decode_ids, encode_ids

DENSE = "dense"
SPARSE = "bm25"

# Point ids are UUIDv5 in this namespace, so that writing a point again replaces it.
_NAMESPACE = uuid.UUID("6b0f4d52-9a5e-5c1b-8f39-7a1d5e0c2b64")

Payload = dict[str, Any]


@lru_cache(maxsize=65_536)
def parent_id(key: ParentKey) -> str:
    """Kept: a question names some fifty of them, and making one costs about 3 µs."""
    return str(uuid.uuid5(_NAMESPACE, f"{key.stage}/{key.citation_id}"))


def child_id(child: Child) -> str:
    return str(uuid.uuid5(_NAMESPACE, f"{child.parent.stage}/{child.parent.citation_id}/{child.ordinal}"))


def document_id(identifier: str) -> str:
    return str(uuid.uuid5(_NAMESPACE, f"document/{identifier}"))


def stage_id(stage: str) -> str:
    return str(uuid.uuid5(_NAMESPACE, f"stage/{stage}"))


def child_payload(record: StageRecord, indexed: IndexedChild) -> Payload:
    child = indexed.child
    return {
        "stage": child.parent.stage,
        "version": record.version,
        "citation_id": child.parent.citation_id,
        "ordinal": child.ordinal,
        "start": child.start,
        "end": child.end,
        "section_path": list(child.section_path),
        "parent_text": child.parent_text,
        **_filtered(record),
    }


def _filtered(record: StageRecord) -> Payload:
    """What filters look at."""
    return {
        "document_id": record.document_id,
        "language": language_range(record.metadata.language),
        "source_category": record.metadata.source_category,
        "year": record.metadata.year,
    }


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
        parent_text=payload["parent_text"],
    )


def parent_payload(record: StageRecord, indexed: IndexedParent) -> Payload:
    parent = indexed.parent
    return {
        "stage": parent.key.stage,
        "citation_id": parent.key.citation_id,
        "topic": record.metadata.topic,
        "ordinal": parent.ordinal,
        "text": parent.text,
        "section_path": list(parent.section_path),
        "pages": list(parent.pages) if parent.pages else None,
        "terms": encode_ids(parent.terms),
        "parent_text": indexed.parent_text,
        **_filtered(record),
    }


# What `place_from` reads.
PLACE_KEYS = ("stage", "citation_id", "document_id", "topic", "parent_text")


def place_from(payload: Payload) -> ParentPlace:
    return ParentPlace(
        key=ParentKey(payload["stage"], payload["citation_id"]),
        document_id=payload["document_id"],
        topic=payload["topic"],
        parent_text=payload["parent_text"],
    )


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


def stage_payload(record: StageRecord, statistics: StageStatistics) -> Payload:
    metadata = asdict(record.metadata)
    for name in ("effective_from", "effective_until"):
        metadata[name] = metadata[name].isoformat() if metadata[name] else None
    metadata["supersedes"] = list(metadata["supersedes"])
    return {
        "kind": "stage",
        "stage": record.stage,
        "document_id": record.document_id,
        "version": record.version,
        "metadata": metadata,
        "parents": record.parents,
        "children": record.children,
        "sequence": record.sequence,
        "statistics": {
            "children": statistics.children.encode(),
            "parents": statistics.parents.encode(),
            "vector_sum": base64.b64encode(statistics.vector_sum.astype("<f4").tobytes()).decode("ascii"),
        },
    }


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


def statistics_from(payload: Payload) -> StageStatistics:
    value = payload["statistics"]
    return StageStatistics(
        children=TermCounts.decode(value["children"]),
        parents=TermCounts.decode(value["parents"]),
        vector_sum=np.frombuffer(base64.b64decode(value["vector_sum"]), dtype="<f4").astype(np.float32),
    )


def document_payload(record: DocumentRecord) -> Payload:
    return {
        "kind": "document",
        "document_id": record.document_id,
        "stage": record.stage,
        "sequence": record.sequence,
        "changed_at": record.changed_at.isoformat(),
    }


def document_from(payload: Payload) -> DocumentRecord:
    return DocumentRecord(
        document_id=payload["document_id"],
        stage=payload["stage"],
        sequence=payload["sequence"],
        changed_at=datetime.fromisoformat(payload["changed_at"]),
    )
