"""Our records as points of the embedded engine; payloads are in `retrieval_svc.store.payloads`."""

from __future__ import annotations

from typing import Any

import qdrant_edge as edge

from radref.errors import Unavailable
from retrieval_svc.bm25 import SparseVector
from retrieval_svc.model import DocumentRecord, IndexedChild, IndexedParent, StageRecord
from retrieval_svc.statistics import StageStatistics
from retrieval_svc.store import payloads
from retrieval_svc.store.payloads import DENSE, SPARSE, Payload


def child_point(record: StageRecord, indexed: IndexedChild) -> edge.Point:
    vectors: dict[str, Any] = {DENSE: list(indexed.dense), **_sparse(indexed.sparse)}
    return edge.Point(payloads.child_id(indexed.child), vectors, payloads.child_payload(record, indexed))


def parent_point(record: StageRecord, indexed: IndexedParent) -> edge.Point:
    identifier = payloads.parent_id(indexed.parent.key)
    return edge.Point(identifier, _sparse(indexed.sparse), payloads.parent_payload(record, indexed))


def stage_point(record: StageRecord, statistics: StageStatistics) -> edge.Point:
    return edge.Point(payloads.stage_id(record.stage), {}, payloads.stage_payload(record, statistics))


def document_point(record: DocumentRecord) -> edge.Point:
    return edge.Point(payloads.document_id(record.document_id), {}, payloads.document_payload(record))


def payload_of(record: edge.Record) -> Payload:
    """Payload of a record that was read with it."""
    if record.payload is None:
        raise Unavailable("the vector store returned a record without content; it may be damaged")
    payload: Payload = record.payload
    return payload


def _sparse(vector: SparseVector) -> dict[str, Any]:
    return {SPARSE: edge.SparseVector(list(vector.indices), list(vector.values))} if vector.indices else {}
