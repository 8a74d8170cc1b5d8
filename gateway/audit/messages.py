"""Maps the audit store's model to protobuf messages and back. No decisions here."""

from __future__ import annotations

from datetime import UTC, datetime

from google.protobuf.timestamp_pb2 import Timestamp

from gateway.answer_messages import ABSTENTIONS_TO_PROTO, OUTCOMES_TO_PROTO
from gateway.audit.feedback_rules import is_request_id
from gateway.audit.model import (
    AuditFilter,
    AuditPage,
    AuditRecord,
    Criterion,
    Feedback,
    FeedbackFilter,
    FeedbackPage,
    StoredFeedback,
)
from gateway.model import Outcome
from gateway.sources import accepted_citation_id
from radref.api.common.v1 import errors_pb2
from radref.api.gateway.v1 import answer_pb2, gateway_pb2
from radref.errors import InvalidInput
from radref.service.actor import MAX_ACTOR

_CRITERIA_TO_PROTO = {
    criterion: gateway_pb2.FeedbackCriterion.Value(f"FEEDBACK_CRITERION_{criterion.name}")
    for criterion in Criterion
}
_CRITERIA_FROM_PROTO = {number: criterion for criterion, number in _CRITERIA_TO_PROTO.items()}


def audit_filter_from(request: gateway_pb2.QueryAuditRequest) -> AuditFilter:
    """Raises InvalidInput: INVALID_FIELD for a time, actor, request id or citation id that cannot be one."""
    since, until = _span_from(request)
    citation_id = accepted_citation_id(request.citation_id) if request.citation_id else ""
    return AuditFilter(since, until, _actor_from(request.actor), citation_id, _request_id_from(request))


def audit_page_to(page: AuditPage) -> gateway_pb2.QueryAuditResponse:
    return gateway_pb2.QueryAuditResponse(
        entries=[_record_to(record) for record in page.records], next_page_token=page.next_token
    )


def feedback_from(request: gateway_pb2.SubmitFeedbackRequest) -> Feedback:
    """Raises InvalidInput: INVALID_FIELD for a criterion that this release does not know."""
    ratings: list[tuple[Criterion, int]] = []
    for index, rating in enumerate(request.ratings):
        if rating.criterion not in _CRITERIA_FROM_PROTO:
            raise InvalidInput(
                f"there is no criterion {rating.criterion}", field=f"ratings[{index}].criterion"
            )
        ratings.append((_CRITERIA_FROM_PROTO[rating.criterion], rating.rating))
    return Feedback(
        request_id=request.request_id,
        ratings=tuple(ratings),
        passages=tuple((passage.citation_id, passage.usefulness) for passage in request.passages),
        comment=request.comment,
    )


def feedback_filter_from(request: gateway_pb2.ListFeedbackRequest) -> FeedbackFilter:
    """Raises InvalidInput as `audit_filter_from`."""
    since, until = _span_from(request)
    return FeedbackFilter(since, until, _actor_from(request.actor), _request_id_from(request))


def feedback_page_to(page: FeedbackPage) -> gateway_pb2.ListFeedbackResponse:
    return gateway_pb2.ListFeedbackResponse(
        entries=[_feedback_to(stored) for stored in page.entries], next_page_token=page.next_token
    )


def _record_to(record: AuditRecord) -> gateway_pb2.AuditEntry:
    return gateway_pb2.AuditEntry(
        request_id=record.request_id,
        at=_timestamp_to(record.at),
        actor=record.actor,
        method=record.method,
        query_hash=record.query_hash,
        citation_ids=record.citation_ids,
        outcome=_outcome_to(record.outcome),
        abstention_reason=(
            ABSTENTIONS_TO_PROTO[record.abstention_reason]
            if record.abstention_reason
            else answer_pb2.ABSTENTION_REASON_UNSPECIFIED
        ),
        error_reason=_error_reason_to(record.error_reason),
        query_text=record.query_text,
        milliseconds=record.duration_ms,
        generator=record.generator,
        knowledge_base=record.knowledge_base_version,
        uncited_ids=record.uncited_ids,
    )


def _feedback_to(stored: StoredFeedback) -> gateway_pb2.FeedbackEntry:
    feedback = stored.feedback
    return gateway_pb2.FeedbackEntry(
        feedback_id=stored.feedback_id,
        request_id=feedback.request_id,
        at=_timestamp_to(stored.at),
        actor=stored.actor,
        ratings=[
            gateway_pb2.CriterionRating(criterion=_CRITERIA_TO_PROTO[criterion], rating=mark)
            for criterion, mark in feedback.ratings
        ],
        passages=[
            gateway_pb2.PassageRating(citation_id=citation_id, usefulness=mark)
            for citation_id, mark in feedback.passages
        ],
        comment=feedback.comment,
        method=stored.method,
        query_hash=stored.query_hash,
        outcome=_outcome_to(stored.outcome),
    )


def _outcome_to(outcome: Outcome | None) -> answer_pb2.Outcome.ValueType:
    return OUTCOMES_TO_PROTO[outcome] if outcome else answer_pb2.OUTCOME_UNSPECIFIED


def _error_reason_to(reason: str) -> errors_pb2.ErrorReason.ValueType:
    name = f"ERROR_REASON_{reason}"
    if not reason:
        return errors_pb2.ERROR_REASON_UNSPECIFIED
    # An older release may read what a newer one wrote.
    known = name in errors_pb2.ErrorReason.keys()  # noqa: SIM118 - a wrapper of protobuf, not a dict
    return errors_pb2.ErrorReason.Value(name) if known else errors_pb2.ERROR_REASON_INTERNAL


def _span_from(
    request: gateway_pb2.QueryAuditRequest | gateway_pb2.ListFeedbackRequest,
) -> tuple[datetime | None, datetime | None]:
    # `from` is a word of Python.
    since = _moment_from(getattr(request, "from"), "from") if request.HasField("from") else None
    until = _moment_from(request.until, "until") if request.HasField("until") else None
    if since is not None and until is not None and since >= until:
        raise InvalidInput("until must be later than from", field="until")
    return since, until


def _moment_from(stamp: Timestamp, field: str) -> datetime:
    try:
        return stamp.ToDatetime(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise InvalidInput("a time lies between the years 1 and 9999", field=field) from None


def _actor_from(actor: str) -> str:
    if len(actor) > MAX_ACTOR or not actor.isprintable():
        raise InvalidInput(f"an actor's name has 1-{MAX_ACTOR} printable characters", field="actor")
    return actor


def _request_id_from(request: gateway_pb2.QueryAuditRequest | gateway_pb2.ListFeedbackRequest) -> str:
    if request.request_id and not is_request_id(request.request_id):
        raise InvalidInput("a request id has 1-64 letters, digits, '.', '_' or '-'", field="request_id")
    return request.request_id


def _timestamp_to(moment: datetime) -> Timestamp:
    message = Timestamp()
    message.FromDatetime(moment)
    return message
