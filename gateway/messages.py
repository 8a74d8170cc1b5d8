"""Maps requests, passages and sources between protobuf messages and the model. No decisions here."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from google.protobuf.timestamp_pb2 import Timestamp

from gateway.model import (
    Candidate,
    ChildHit,
    DocumentInfo,
    Filters,
    Leg,
    Limits,
    Passage,
    PassageState,
    RankedPassage,
    RerankMode,
    SearchQuery,
    Signals,
    Source,
    Validity,
)
from radref.api.common.v1 import documents_pb2
from radref.api.gateway.v1 import answer_pb2, gateway_pb2
from radref.errors import InvalidInput
from radref.unknown_fields import refuse_unknown_filters

LEGS_TO_PROTO = {Leg.DENSE: documents_pb2.SEARCH_LEG_DENSE, Leg.BM25: documents_pb2.SEARCH_LEG_BM25}
LEGS_FROM_PROTO = {number: leg for leg, number in LEGS_TO_PROTO.items()}
_RERANK = {
    gateway_pb2.RERANK_MODE_UNSPECIFIED: RerankMode.DEFAULT,
    gateway_pb2.RERANK_MODE_ON: RerankMode.ON,
    gateway_pb2.RERANK_MODE_OFF: RerankMode.OFF,
}
_STATES_TO_PROTO = {
    PassageState.INDEXED: documents_pb2.DOCUMENT_STATE_INDEXED,
    PassageState.SUPERSEDED: documents_pb2.DOCUMENT_STATE_SUPERSEDED,
    PassageState.WITHDRAWN: documents_pb2.DOCUMENT_STATE_WITHDRAWN,
}
_VALIDITIES_TO_PROTO = {
    Validity.UNKNOWN: documents_pb2.VALIDITY_UNSPECIFIED,
    Validity.IN_FORCE: documents_pb2.VALIDITY_IN_FORCE,
    Validity.NOT_YET: documents_pb2.VALIDITY_NOT_YET,
    Validity.EXPIRED: documents_pb2.VALIDITY_EXPIRED,
    Validity.SUPERSEDED: documents_pb2.VALIDITY_SUPERSEDED,
}
_VALIDITIES_FROM_PROTO = {number: validity for validity, number in _VALIDITIES_TO_PROTO.items()}
_STATES_FROM_PROTO = {number: state for state, number in _STATES_TO_PROTO.items()}


# --- requests -------------------------------------------------------------------------------------------


def filters_from(message: documents_pb2.SearchFilters) -> Filters:
    """Raises InvalidInput (UNKNOWN_FILTER) for a field this release does not know."""
    refuse_unknown_filters(message)
    return Filters(
        topics=tuple(message.topics),
        languages=tuple(message.languages),
        source_categories=tuple(message.source_categories),
        document_ids=tuple(message.document_ids),
        year_from=message.year_from,
        year_to=message.year_to,
    )


def filters_to(filters: Filters) -> documents_pb2.SearchFilters:
    return documents_pb2.SearchFilters(
        topics=filters.topics,
        languages=filters.languages,
        source_categories=filters.source_categories,
        document_ids=filters.document_ids,
        year_from=filters.year_from,
        year_to=filters.year_to,
    )


def search_query_from(request: gateway_pb2.SearchRequest) -> SearchQuery:
    """Raises InvalidInput for an enum value this release does not know."""
    legs: list[Leg] = []
    for number in request.legs:
        if number not in LEGS_FROM_PROTO:
            raise InvalidInput(f"there is no search leg {number}", field="legs")
        legs.append(LEGS_FROM_PROTO[number])
    if request.rerank not in _RERANK:
        raise InvalidInput(f"there is no rerank mode {request.rerank}", field="rerank")
    limits = request.limits
    return SearchQuery(
        text=request.query,
        legs=tuple(legs),
        rerank=_RERANK[request.rerank],
        limits=Limits(limits.per_collection, limits.candidates, limits.parents),
        filters=filters_from(request.filters),
        want_candidates=request.want_candidates,
    )


# --- passages -------------------------------------------------------------------------------------------


def passage_from(message: documents_pb2.Passage) -> Passage:
    return Passage(
        citation_id=message.citation_id,
        document_id=message.document_id,
        version=message.version,
        ordinal=message.ordinal,
        text=message.text,
        section_path=tuple(message.section_path),
        document=_document_from(message.metadata),
        pages=(message.pages.first, message.pages.last) if message.HasField("pages") else None,
        validity=_VALIDITIES_FROM_PROTO.get(message.validity, Validity.UNKNOWN),
        superseded_by=message.superseded_by,
        superseded_at=_timestamp_from(message.superseded_at) if message.HasField("superseded_at") else None,
    )


def passage_to(passage: Passage) -> documents_pb2.Passage:
    document = passage.document
    message = documents_pb2.Passage(
        citation_id=passage.citation_id,
        document_id=passage.document_id,
        version=passage.version,
        ordinal=passage.ordinal,
        text=passage.text,
        section_path=passage.section_path,
        metadata=documents_pb2.DocumentMetadata(
            title=document.title,
            topic=document.topic,
            language=document.language,
            source_category=document.source_category,
            source=document.source,
            licence=document.licence,
            year=document.year,
            authority=document.authority,
            effective_from=timestamp_to(document.effective_from),
            effective_until=timestamp_to(document.effective_until),
            supersedes=document.supersedes,
        ),
        validity=_VALIDITIES_TO_PROTO[passage.validity],
        superseded_by=passage.superseded_by,
        superseded_at=timestamp_to(passage.superseded_at),
    )
    if passage.pages:
        message.pages.first, message.pages.last = passage.pages
    return message


def _document_from(message: documents_pb2.DocumentMetadata) -> DocumentInfo:
    return DocumentInfo(
        title=message.title,
        topic=message.topic,
        language=message.language,
        source_category=message.source_category,
        source=message.source,
        licence=message.licence,
        year=message.year,
        authority=message.authority,
        effective_from=_timestamp_from(message.effective_from)
        if message.HasField("effective_from")
        else None,
        effective_until=(
            _timestamp_from(message.effective_until) if message.HasField("effective_until") else None
        ),
        supersedes=tuple(message.supersedes),
    )


def child_hit_from(message: documents_pb2.ChildHit) -> ChildHit:
    return ChildHit(
        ordinal=message.ordinal,
        start=message.span.start,
        end=message.span.end,
        rrf_score=message.rrf_score,
        section_path=tuple(message.section_path),
        dense_score=message.dense_score if message.HasField("dense_score") else None,
        bm25_score=message.bm25_score if message.HasField("bm25_score") else None,
    )


def _child_hit_to(hit: ChildHit) -> documents_pb2.ChildHit:
    return documents_pb2.ChildHit(
        ordinal=hit.ordinal,
        span=documents_pb2.Span(start=hit.start, end=hit.end),
        rrf_score=hit.rrf_score,
        dense_score=hit.dense_score,
        bm25_score=hit.bm25_score,
        section_path=hit.section_path,
    )


def ranked_parents_to(parents: Iterable[RankedPassage]) -> list[answer_pb2.RankedParent]:
    return [
        answer_pb2.RankedParent(
            passage=passage_to(parent.passage),
            rank=rank,
            rrf_score=parent.rrf_score,
            rerank_score=parent.rerank_score,
            children=[_child_hit_to(child) for child in parent.children],
            duplicate_document_ids=parent.duplicate_document_ids,
            dense_score=parent.dense_score,
            bm25_score=parent.bm25_score,
        )
        for rank, parent in enumerate(parents, start=1)
    ]


def candidates_to(candidates: Iterable[Candidate]) -> list[gateway_pb2.RankedCandidate]:
    return [
        gateway_pb2.RankedCandidate(
            citation_id=candidate.citation_id,
            document_id=candidate.document_id,
            hit=_child_hit_to(candidate.hit),
        )
        for candidate in candidates
    ]


def signals_to(signals: Signals) -> gateway_pb2.QuerySignals:
    """Absent stays absent."""
    return gateway_pb2.QuerySignals(
        best_dense=signals.best_dense,
        best_bm25=signals.best_bm25,
        margin=signals.margin,
        term_coverage=signals.term_coverage,
        rare_term_coverage=signals.rare_term_coverage,
    )


# --- sources --------------------------------------------------------------------------------------------


def source_from(
    passage: documents_pb2.Passage, state: documents_pb2.DocumentState.ValueType, ended_at: Timestamp | None
) -> Source:
    return Source(
        passage=passage_from(passage),
        state=_STATES_FROM_PROTO[state],
        ended_at=None if ended_at is None else _timestamp_from(ended_at),
    )


def source_to(source: Source) -> gateway_pb2.GetSourceResponse:
    return gateway_pb2.GetSourceResponse(
        passage=passage_to(source.passage),
        state=_STATES_TO_PROTO[source.state],
        ended_at=timestamp_to(source.ended_at),
    )


def _timestamp_from(message: Timestamp) -> datetime:
    return message.ToDatetime(tzinfo=UTC)


def timestamp_to(moment: datetime | None) -> Timestamp | None:
    if moment is None:
        return None
    message = Timestamp()
    message.FromDatetime(moment)
    return message
