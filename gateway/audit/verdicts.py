"""Repository of feedback."""

from __future__ import annotations

import uuid
from datetime import datetime

from sqlalchemy import and_, or_, select
from sqlalchemy.orm import Session

from gateway.audit.model import Criterion, Feedback, FeedbackFilter, StoredFeedback
from gateway.audit.page_tokens import Mark
from gateway.audit.tables import FeedbackRow, RequestRow
from gateway.model import Outcome


def put_feedback(session: Session, row_id: int, actor: str, feedback: Feedback, now: datetime) -> str:
    """Stores feedback in place of an earlier one of the same user; the caller has locked the request's row.

    Returns:
        Its id, the same as before when it replaced one.
    """
    row = session.scalars(
        select(FeedbackRow).where(FeedbackRow.row_id == row_id, FeedbackRow.actor == actor)
    ).one_or_none()
    if row is None:
        row = FeedbackRow(feedback_id=uuid.uuid4().hex, row_id=row_id, actor=actor)
        session.add(row)
    row.request_id = feedback.request_id
    row.at = now
    row.ratings = [[criterion.value, mark] for criterion, mark in feedback.ratings]
    row.passages = [[citation_id, mark] for citation_id, mark in feedback.passages]
    row.comment = feedback.comment
    return row.feedback_id


def list_feedback(
    session: Session, wanted: FeedbackFilter, *, limit: int, after: Mark | None
) -> tuple[list[StoredFeedback], Mark | None]:
    """A page of feedback, newest first, and the mark of the next page or None; see `list_requests`."""
    query = (
        select(FeedbackRow, RequestRow)
        .join(RequestRow, RequestRow.id == FeedbackRow.row_id)
        .order_by(FeedbackRow.at.desc(), FeedbackRow.id.desc())
        .limit(limit + 1)
    )
    if wanted.since is not None:
        query = query.where(FeedbackRow.at >= wanted.since)
    if wanted.until is not None:
        query = query.where(FeedbackRow.at < wanted.until)
    if wanted.actor:
        query = query.where(FeedbackRow.actor == wanted.actor)
    if wanted.request_id:
        query = query.where(FeedbackRow.request_id == wanted.request_id)
    if after is not None:
        query = query.where(
            or_(FeedbackRow.at < after.at, and_(FeedbackRow.at == after.at, FeedbackRow.id < after.row))
        )
    rows = list(session.execute(query))
    shown = rows[:limit]
    last = Mark(shown[-1][0].at, shown[-1][0].id) if len(rows) > limit else None
    return [_stored(feedback, request) for feedback, request in shown], last


def _stored(row: FeedbackRow, request: RequestRow) -> StoredFeedback:
    return StoredFeedback(
        feedback_id=row.feedback_id,
        at=row.at,
        actor=row.actor,
        feedback=Feedback(
            request_id=row.request_id,
            ratings=tuple((Criterion(name), mark) for name, mark in row.ratings),
            passages=tuple((citation_id, mark) for citation_id, mark in row.passages),
            comment=row.comment,
        ),
        method=request.method,
        query_hash=request.query_hash,
        outcome=Outcome(request.outcome) if request.outcome else None,
    )
