"""Repository of reviews."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from ingest_svc.lifecycle import Decision
from ingest_svc.registry.models import ReviewRow
from ingest_svc.registry.records import Review


def add_review(
    session: Session,
    *,
    document_id: str,
    version: int,
    reviewer: str,
    decision: Decision,
    comment: str,
    at: datetime,
) -> None:
    """Keeps a decision for ever."""
    session.add(
        ReviewRow(
            document_id=document_id,
            version=version,
            reviewer=reviewer,
            decision=decision.value,
            comment=comment,
            at=at,
        )
    )
    session.flush()


def list_reviews(session: Session, document_id: str, version: int) -> Sequence[Review]:
    """Reviews of a version, oldest first."""
    return reviews_of(session, [document_id]).get((document_id, version), ())


def reviews_of(session: Session, document_ids: Collection[str]) -> dict[tuple[str, int], Sequence[Review]]:
    """Reviews of all versions of some documents by (document id, version), oldest first."""
    found: defaultdict[tuple[str, int], list[Review]] = defaultdict(list)
    for row in session.scalars(
        select(ReviewRow).where(ReviewRow.document_id.in_(document_ids)).order_by(ReviewRow.id)
    ):
        found[row.document_id, row.version].append(
            Review(row.reviewer, Decision(row.decision), row.comment, row.at)
        )
    return dict(found)
