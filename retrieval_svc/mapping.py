"""Protobuf messages of the retrieval service to our types and back. No I/O, no checks beyond form."""

from __future__ import annotations

from datetime import UTC, datetime

from google.protobuf.timestamp_pb2 import Timestamp

from radref.api.common.v1 import documents_pb2
from radref.api.retrieval.v1 import index_pb2, retrieval_pb2
from radref.errors import InvalidInput
from radref.unknown_fields import refuse_unknown_filters
from radref.validity import Validity
from retrieval_svc.catalogue import Snapshot
from retrieval_svc.index import ListedVersion
from retrieval_svc.model import Filters, IndexIdentity, Leg, Metadata
from retrieval_svc.query import Limits, Preview, Query
from retrieval_svc.ranking import FusedChild
from retrieval_svc.retrieve import Retrieval, RetrievedParent
from retrieval_svc.search import LegReport
from retrieval_svc.staging import Batch, NewChild, NewParent, StageHeader
from retrieval_svc.store.protocol import StoreCounts

_LEGS = {
    documents_pb2.SEARCH_LEG_DENSE: Leg.DENSE,
    documents_pb2.SEARCH_LEG_BM25: Leg.BM25,
}
_LEG_VALUES = {leg: value for value, leg in _LEGS.items()}
_VALIDITIES = {
    Validity.IN_FORCE: documents_pb2.VALIDITY_IN_FORCE,
    Validity.NOT_YET: documents_pb2.VALIDITY_NOT_YET,
    Validity.EXPIRED: documents_pb2.VALIDITY_EXPIRED,
    Validity.SUPERSEDED: documents_pb2.VALIDITY_SUPERSEDED,
}


def query_from(request: retrieval_pb2.RetrieveRequest) -> Query:
    """Raises InvalidInput for a leg (INVALID_FIELD) or a filter (UNKNOWN_FILTER) that is not known."""
    for value in request.legs:
        if value not in _LEGS:
            raise InvalidInput("unknown search leg", field="legs")
    filters = request.filters
    refuse_unknown_filters(filters)
    return Query(
        text=request.query,
        legs=tuple(_LEGS[value] for value in request.legs),
        limits=Limits(request.limits.per_collection, request.limits.candidates, request.limits.parents),
        topics=tuple(filters.topics),
        filters=Filters(
            languages=tuple(filters.languages),
            source_categories=tuple(filters.source_categories),
            document_ids=tuple(filters.document_ids),
            year_from=filters.year_from,
            year_to=filters.year_to,
        ),
        preview=(
            Preview(request.preview.document_id, request.preview.version)
            if request.HasField("preview")
            else None
        ),
        want_candidates=request.want_candidates,
    )


def retrieve_response(retrieval: Retrieval) -> retrieval_pb2.RetrieveResponse:
    signals = retrieval_pb2.QuerySignals(
        term_coverage=retrieval.signals.term_coverage,
        rare_term_coverage=retrieval.signals.rare_term_coverage,
    )
    if retrieval.signals.margin is not None:
        signals.margin = retrieval.signals.margin
    if retrieval.signals.best_dense is not None:
        signals.best_dense = retrieval.signals.best_dense
    if retrieval.signals.best_bm25 is not None:
        signals.best_bm25 = retrieval.signals.best_bm25
    return retrieval_pb2.RetrieveResponse(
        parents=[_parent(parent) for parent in retrieval.parents],
        candidates=[_candidate(child) for child in retrieval.candidates],
        legs=[_leg_report(report) for report in retrieval.legs],
        signals=signals,
        embedder_fingerprint=retrieval.embedder_fingerprint,
        index_version=retrieval.index_version,
        timings=[
            retrieval_pb2.StageTiming(stage=stage, milliseconds=milliseconds)
            for stage, milliseconds in retrieval.timings.items()
        ],
    )


def header_from(header: index_pb2.StageHeader) -> StageHeader:
    return StageHeader(
        document_id=header.document_id,
        version=header.version,
        metadata=_metadata_from(header.metadata),
        embedder_fingerprint=header.embedder_fingerprint,
        parents=header.parent_count,
        children=header.child_count,
    )


def batch_from(batch: index_pb2.StageBatch) -> Batch:
    return Batch(
        parents=[
            NewParent(
                citation_id=parent.citation_id,
                ordinal=parent.ordinal,
                text=parent.text,
                section_path=tuple(parent.section_path),
                pages=(parent.pages.first, parent.pages.last) if parent.HasField("pages") else None,
            )
            for parent in batch.parents
        ],
        children=[
            NewChild(
                citation_id=child.citation_id,
                ordinal=child.ordinal,
                start=child.span.start,
                end=child.span.end,
                section_path=tuple(child.section_path),
                vector=list(child.vector),
            )
            for child in batch.children
        ],
    )


def stats_response(
    counts: StoreCounts,
    documents: dict[str, int],
    snapshot: Snapshot,
    identity: IndexIdentity | None,
    building_fingerprint: str,
) -> index_pb2.GetStatsResponse:
    """`documents` = searched documents by topic."""
    response = index_pb2.GetStatsResponse(
        collections=[
            index_pb2.CollectionStats(
                topic=topic, children=children, active_documents=documents.get(topic, 0)
            )
            for topic, children in counts.children.items()
        ],
        parents=counts.parents,
        active_documents=len(snapshot.active),
        embedder_fingerprint=identity.embedder_fingerprint if identity else "",
        dimension=identity.dimension if identity else 0,
        index_version=snapshot.index_version,
        building_fingerprint=building_fingerprint,
    )
    if snapshot.changed_at is not None:
        response.changed_at.FromDatetime(snapshot.changed_at)
    return response


def listed_version(listed: ListedVersion) -> index_pb2.ListVersionsResponse:
    return index_pb2.ListVersionsResponse(
        document_id=listed.record.document_id,
        version=listed.record.version,
        active=listed.active,
        parents_staged=listed.record.parents,
        children_staged=listed.record.children,
        parents_stored=listed.stored.parents,
        children_stored=listed.stored.children,
    )


def _parent(found: RetrievedParent) -> retrieval_pb2.RetrievedParent:
    parent = found.parent
    passage = documents_pb2.Passage(
        citation_id=parent.key.citation_id,
        document_id=found.record.document_id,
        version=found.record.version,
        ordinal=parent.ordinal,
        text=parent.text,
        section_path=parent.section_path,
        metadata=_metadata(found.record.metadata),
        validity=_VALIDITIES[found.standing.validity],
        superseded_by=found.standing.superseded_by,
    )
    if parent.pages:
        passage.pages.first, passage.pages.last = parent.pages
    if found.standing.superseded_at is not None:
        passage.superseded_at.FromDatetime(found.standing.superseded_at)
    return retrieval_pb2.RetrievedParent(
        passage=passage,
        rrf_score=found.ranked.score,
        dense_score=found.ranked.dense_score,
        bm25_score=found.ranked.bm25_score,
        children=[_hit(child) for child in found.ranked.children],
        duplicate_document_ids=found.duplicates,
    )


def _candidate(fused: FusedChild) -> retrieval_pb2.Candidate:
    return retrieval_pb2.Candidate(
        citation_id=fused.child.parent.citation_id, document_id=fused.child.document_id, hit=_hit(fused)
    )


def _hit(fused: FusedChild) -> documents_pb2.ChildHit:
    child = fused.child
    hit = documents_pb2.ChildHit(
        ordinal=child.ordinal,
        span=documents_pb2.Span(start=child.start, end=child.end),
        rrf_score=fused.score,
        section_path=child.section_path,
    )
    if fused.dense_score is not None:
        hit.dense_score = fused.dense_score
    if fused.bm25_score is not None:
        hit.bm25_score = fused.bm25_score
    return hit


def _leg_report(report: LegReport) -> retrieval_pb2.LegReport:
    return retrieval_pb2.LegReport(
        leg=_LEG_VALUES[report.leg], topic=report.topic, ok=report.ok, hits=report.hits
    )


def _metadata_from(message: documents_pb2.DocumentMetadata) -> Metadata:
    return Metadata(
        title=message.title,
        topic=message.topic,
        language=message.language,
        source_category=message.source_category,
        source=message.source,
        licence=message.licence,
        year=message.year,
        authority=message.authority,
        effective_from=_moment(message.effective_from) if message.HasField("effective_from") else None,
        effective_until=_moment(message.effective_until) if message.HasField("effective_until") else None,
        supersedes=tuple(message.supersedes),
    )


def _metadata(metadata: Metadata) -> documents_pb2.DocumentMetadata:
    message = documents_pb2.DocumentMetadata(
        title=metadata.title,
        topic=metadata.topic,
        language=metadata.language,
        source_category=metadata.source_category,
        source=metadata.source,
        licence=metadata.licence,
        year=metadata.year,
        authority=metadata.authority,
        supersedes=metadata.supersedes,
    )
    if metadata.effective_from is not None:
        message.effective_from.FromDatetime(metadata.effective_from)
    if metadata.effective_until is not None:
        message.effective_until.FromDatetime(metadata.effective_until)
    return message


def _moment(timestamp: Timestamp) -> datetime:
    try:
        return timestamp.ToDatetime(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise InvalidInput(
            "a date lies outside the years 1-9999", reason="OUT_OF_RANGE", field="header.metadata"
        ) from None
