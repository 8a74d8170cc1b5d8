"""Goes back to an earlier version without parsing it again."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy.orm import Session

from ingest_svc.given_reason import given_reason
from ingest_svc.jobs.journal import utc_now
from ingest_svc.lifecycle import DocumentState
from ingest_svc.registry import audit, documents, jobs, versions
from ingest_svc.registry.database import Database
from ingest_svc.registry.supersession import check_no_cycle
from radref.errors import InvalidInput, PreconditionFailed


@dataclass(frozen=True, slots=True)
class RolledBack:
    """Mirrors radref.api.ingest.v1.RollbackDocumentResponse."""

    previous_version: int
    job_id: str


class Rollback:
    """Queues the jobs that bring earlier versions back."""

    def __init__(self, *, database: Database, wake: Callable[[], None]) -> None:
        """
        Args:
            wake: told after a job was queued.
        """
        self._database = database
        self._wake = wake

    async def roll_back(self, document_id: str, version: int, reason: str, actor: str) -> RolledBack:
        """Queues the job that indexes a version again that was searched once, from its kept text.

        What is searched now goes on being searched until the switch, and stays if the job fails.

        Args:
            version: from 1.
            reason: for the audit trail, 1-2000 characters.

        Raises:
            InvalidInput: EMPTY_TEXT or TEXT_TOO_LONG (reason), OUT_OF_RANGE (version), INVALID_FIELD (a
                document that it supersedes supersedes it meanwhile).
            NotFound: UNKNOWN_DOCUMENT or UNKNOWN_VERSION.
            PreconditionFailed: INVALID_STATE; it was never searched, it is searched now, something of the
                document is in progress, or another version holds the same bytes.
        """
        if version == 0:
            raise InvalidInput("Name the version to go back to.", reason="OUT_OF_RANGE", field="version")
        given = given_reason(reason, field="reason", missing="Say why you go back to the earlier version.")
        done = await self._database.write(
            lambda session: _roll_back(session, document_id, version, given, actor, uuid.uuid4().hex)
        )
        self._wake()
        return done


def _roll_back(
    session: Session, document_id: str, number: int, reason: str, actor: str, job_id: str
) -> RolledBack:
    version = versions.get_version(session, document_id, number)
    named = f"Version {number} of document {document_id}"
    active = documents.get_document(session, document_id).active_version
    if active == number:
        raise PreconditionFailed(f"{named} is the one that is searched.", field="version")
    versions.refuse_in_progress(session, document_id)
    if not audit.was_indexed(session, document_id, number):
        raise PreconditionFailed(
            f"{named} ({version.state}) was never searched; only a version that was can be brought back.",
            field="version",
        )
    holder = versions.find_holder(session, version.sha256)
    if holder is not None:
        raise PreconditionFailed(
            f"{named} has the same bytes as version {holder.version} of document {holder.document_id}, which "
            f"is {holder.state}.",
            field="version",
            metadata={"document_id": holder.document_id, "version": str(holder.version)},
        )
    if versions.load_content(session, document_id, number) is None:
        raise PreconditionFailed(
            f"The text of {named} was not kept; upload its file with ReplaceDocument.", field="version"
        )
    check_no_cycle(session, document_id, version.metadata.supersedes)
    now = utc_now()
    versions.change_state(session, document_id, number, DocumentState.APPROVED, now)
    jobs.add_job(session, job_id=job_id, document_id=document_id, version=number, now=now)
    audit.add_event(
        session,
        at=now,
        actor=actor,
        action="rolled-back",
        document_id=document_id,
        version=number,
        reason=reason,
    )
    return RolledBack(active, job_id)
