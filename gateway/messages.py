"""Maps protobuf messages to the gateway's model and back. No decisions here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

from google.protobuf.timestamp_pb2 import Timestamp

from gateway.model import (
    AbstentionReason,
    Answer,
    AnswerEvent,
    Candidate,
    ChildHit,
    ContradictingPlace,
    Contradiction,
    DocumentInfo,
    Filters,
    Leg,
    Limits,
    Newer,
    Notice,
    NoticeKind,
    Outcome,
    Passage,
    PassageState,
    PromptMessage,
    RankedPassage,
    RerankMode,
    SearchQuery,
    Signals,
    Source,
    Sources,
    Validity,
    Versions,
)
from gateway.validation import StatementFlag, ValidatedStatement, ValidationCounts
from radref import __version__
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
OUTCOMES_TO_PROTO = {
    Outcome.ANSWERED: answer_pb2.OUTCOME_ANSWERED,
    Outcome.PARTIALLY_ANSWERED: answer_pb2.OUTCOME_PARTIALLY_ANSWERED,
    Outcome.ABSTAINED: answer_pb2.OUTCOME_ABSTAINED,
}
ABSTENTIONS_TO_PROTO = {
    AbstentionReason.INSUFFICIENT_EVIDENCE: answer_pb2.ABSTENTION_REASON_INSUFFICIENT_EVIDENCE,
    AbstentionReason.NO_VALID_CITATION: answer_pb2.ABSTENTION_REASON_NO_VALID_CITATION,
    AbstentionReason.CONFLICT: answer_pb2.ABSTENTION_REASON_CONFLICT,
    AbstentionReason.OUT_OF_SCOPE: answer_pb2.ABSTENTION_REASON_OUT_OF_SCOPE,
}
_NOTICES = {
    NoticeKind.MISSING_INFORMATION: answer_pb2.NOTICE_KIND_MISSING_INFORMATION,
    NoticeKind.DEGRADED_SEARCH: answer_pb2.NOTICE_KIND_DEGRADED_SEARCH,
    NoticeKind.CONTRADICTION: answer_pb2.NOTICE_KIND_CONTRADICTION,
    NoticeKind.CONTEXT_TRUNCATED: answer_pb2.NOTICE_KIND_CONTEXT_TRUNCATED,
    NoticeKind.NOT_IN_FORCE: answer_pb2.NOTICE_KIND_NOT_IN_FORCE,
}
_NEWER = {
    Newer.UNKNOWN: answer_pb2.NEWER_PLACE_UNSPECIFIED,
    Newer.FIRST: answer_pb2.NEWER_PLACE_FIRST,
    Newer.SECOND: answer_pb2.NEWER_PLACE_SECOND,
}
_FLAGS = {
    StatementFlag.NEGATION_MISSING: answer_pb2.STATEMENT_FLAG_NEGATION_MISSING,
    StatementFlag.OTHER_LANGUAGE: answer_pb2.STATEMENT_FLAG_OTHER_LANGUAGE,
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
            effective_from=_timestamp_to(document.effective_from),
            effective_until=_timestamp_to(document.effective_until),
            supersedes=document.supersedes,
        ),
        validity=_VALIDITIES_TO_PROTO[passage.validity],
        superseded_by=passage.superseded_by,
        superseded_at=_timestamp_to(passage.superseded_at),
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


# --- answers --------------------------------------------------------------------------------------------


def answer_to(
    question: str, answer: Answer, request_id: str, *, want_prompt: bool
) -> gateway_pb2.GenerateResponse:
    end = _end_to(answer)
    return gateway_pb2.GenerateResponse(
        query=question,
        prompt=prompt_to(answer.messages) if want_prompt else (),
        ranked_parents=ranked_parents_to(answer.parents),
        outcome=end.outcome,
        statements=[_statement_to(statement) for statement in answer.statements],
        abstention=end.abstention if end.HasField("abstention") else None,
        notices=end.notices,
        validation=end.validation,
        timings=end.timings,
        request_id=request_id,
        versions=end.versions,
        usage=end.usage,
    )


def answer_event_to(event: AnswerEvent, request_id: str) -> gateway_pb2.StreamGenerateResponse:
    """One message of a streamed answer."""
    match event:
        case Sources():
            sources = gateway_pb2.StreamSources(
                ranked_parents=ranked_parents_to(event.parents), request_id=request_id
            )
            return gateway_pb2.StreamGenerateResponse(sources=sources)
        case ValidatedStatement():
            return gateway_pb2.StreamGenerateResponse(statement=_statement_to(event))
        case Answer():
            return gateway_pb2.StreamGenerateResponse(end=_end_to(event))


def _end_to(answer: Answer) -> gateway_pb2.StreamEnd:
    end = gateway_pb2.StreamEnd(
        outcome=OUTCOMES_TO_PROTO[answer.outcome],
        notices=notices_to(answer.notices),
        validation=_counts_to(answer.validation),
        timings=timings_to(answer.timings),
        versions=versions_to(answer.versions),
        usage=answer_pb2.TokenUsage(
            prompt_tokens=answer.prompt_tokens, completion_tokens=answer.completion_tokens
        ),
    )
    if answer.abstention is not None:
        end.abstention.reason = ABSTENTIONS_TO_PROTO[answer.abstention.reason]
        end.abstention.message = answer.abstention.message
    return end


def _statement_to(statement: ValidatedStatement) -> answer_pb2.Statement:
    return answer_pb2.Statement(
        text=statement.text,
        citations=[
            answer_pb2.Citation(
                citation_id=citation.id,
                start=citation.start,
                end=citation.end,
                quote=citation.quote,
                section_path=citation.section_path,
            )
            for citation in statement.citations
        ],
        flags=[_FLAGS[flag] for flag in statement.flags],
    )


def _counts_to(counts: ValidationCounts) -> answer_pb2.ValidationCounts:
    return answer_pb2.ValidationCounts(
        citations_valid=counts.citations_valid,
        citations_unknown=counts.citations_unknown,
        citations_misquoted=counts.citations_misquoted,
        statements_kept=counts.statements_kept,
        statements_uncited=counts.statements_uncited,
        statements_unsupported_number=counts.statements_unsupported_number,
        statements_flagged=counts.statements_flagged,
        statements_other_language=counts.statements_other_language,
        statements_unsafe=counts.statements_unsafe,
    )


def prompt_to(messages: Sequence[PromptMessage]) -> list[answer_pb2.PromptPart]:
    return [answer_pb2.PromptPart(role=message.role, content=message.content) for message in messages]


def notices_to(notices: Iterable[Notice]) -> list[answer_pb2.Notice]:
    return [
        answer_pb2.Notice(
            kind=_NOTICES[n.kind],
            message=n.message,
            citation_ids=n.citation_ids,
            contradiction=_contradiction_to(n.contradiction) if n.contradiction else None,
        )
        for n in notices
    ]


def _contradiction_to(contradiction: Contradiction) -> answer_pb2.Contradiction:
    return answer_pb2.Contradiction(
        first=_contradicting_place_to(contradiction.first),
        second=_contradicting_place_to(contradiction.second),
        newer=_NEWER[contradiction.newer],
    )


def _contradicting_place_to(place: ContradictingPlace) -> answer_pb2.ContradictingPlace:
    return answer_pb2.ContradictingPlace(
        citation_id=place.citation_id,
        start=place.start,
        end=place.end,
        quote=place.quote,
        value=place.value,
        section_path=place.section_path,
        document_id=place.document_id,
        title=place.title,
        version=place.version,
        year=place.year,
        effective_from=_timestamp_to(place.effective_from),
        authority=place.authority,
    )


def timings_to(timings: Mapping[str, float]) -> list[answer_pb2.StageTiming]:
    return [answer_pb2.StageTiming(stage=stage, milliseconds=ms) for stage, ms in timings.items()]


def versions_to(versions: Versions) -> answer_pb2.Versions:
    return answer_pb2.Versions(
        prompt=versions.prompt,
        knowledge_base=versions.knowledge_base,
        embedder=versions.embedder,
        reranker=versions.reranker,
        generator=versions.generator,
        radref=__version__,
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
        ended_at=_timestamp_to(source.ended_at),
    )


def _timestamp_from(message: Timestamp) -> datetime:
    return message.ToDatetime(tzinfo=UTC)


def _timestamp_to(moment: datetime | None) -> Timestamp | None:
    if moment is None:
        return None
    message = Timestamp()
    message.FromDatetime(moment)
    return message
