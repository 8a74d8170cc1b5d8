"""What users say about answers, kept beside the requests it is about."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from sqlalchemy.orm import Session

from gateway.audit import entries, verdicts
from gateway.audit.database import AuditDatabase
from gateway.audit.feedback_rules import accepted_feedback, check_passages, is_request_id
from gateway.audit.model import Feedback, FeedbackFilter, FeedbackPage
from gateway.audit.page_tokens import mark_of, page_size, token_of
from radref.errors import NotFound


def _now() -> datetime:
    return datetime.now(UTC)


class FeedbackBox:
    """Takes and lists feedback. It is deleted with its request.

    Args:
        database: stays the caller's to close.
        clock: the time now, aware.
    """

    def __init__(self, database: AuditDatabase, clock: Callable[[], datetime] = _now) -> None:
        self._database = database
        self._clock = clock

    async def submit(self, feedback: Feedback, actor: str) -> str:
        """Stores feedback on the newest request with its id; an earlier one of the same user is replaced.

        Returns:
            Its id, 32 hexadecimal digits; the same when it replaced one.

        Raises:
            NotFound: UNKNOWN_REQUEST, the audit store has no such request.
            InvalidInput: as `accepted_feedback`; INVALID_FIELD for a passage that the request did not return.
            Unavailable: BACKEND_UNAVAILABLE, the store does not answer.
        """
        accepted = accepted_feedback(feedback)
        unknown = NotFound(
            "no request has this id: it is shown with every answer, and kept as long as the audit trail",
            reason="UNKNOWN_REQUEST",
            field="request_id",
        )
        if not is_request_id(feedback.request_id):
            raise unknown

        def store(session: Session) -> str:
            found = entries.find_request(session, feedback.request_id)
            if found is None:
                raise unknown
            row_id, record = found
            check_passages(accepted, {*record.citation_ids, *record.uncited_ids})
            return verdicts.put_feedback(session, row_id, actor, accepted, self._clock())

        return await self._database.write(store)

    async def page(self, wanted: FeedbackFilter, *, size: int = 0, token: str = "") -> FeedbackPage:
        """A page of feedback, newest first; arguments and errors as `AuditTrail.query`."""
        limit, after = page_size(size), mark_of("f", token)
        found, last = await self._database.read(
            lambda session: verdicts.list_feedback(session, wanted, limit=limit, after=after)
        )
        return FeedbackPage(tuple(found), token_of("f", last))
