"""The switch of a document's searched version, as the registry sees it."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy.orm import Session

from ingest_svc.lifecycle import DocumentState
from ingest_svc.registry import audit, documents, versions


def activate_version(session: Session, document_id: str, version: int, now: datetime) -> int:
    """Makes an approved version the searched one and supersedes the one before, after the index has switched.

    Doing it again changes nothing.

    Returns:
        The version that was searched before; 0 = none, or this one.

    Raises:
        PreconditionFailed: INVALID_STATE, the version is not approved.
        NotFound: UNKNOWN_DOCUMENT or UNKNOWN_VERSION.
    """
    document = documents.get_document(session, document_id)
    documents.set_index_cleanup(session, document_id, False)
    previous = document.active_version
    if previous == version:
        return 0
    if previous:
        _move(session, document_id, previous, DocumentState.SUPERSEDED, now, f"version {version}")
    _move(session, document_id, version, DocumentState.INDEXED, now)
    return previous


def _move(
    session: Session, document_id: str, version: int, state: DocumentState, now: datetime, reason: str = ""
) -> None:
    versions.change_state(session, document_id, version, state, now)
    audit.add_event(
        session,
        at=now,
        actor=audit.SYSTEM_ACTOR,
        action=state.value,
        document_id=document_id,
        version=version,
        reason=reason,
    )
