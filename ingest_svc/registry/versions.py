"""Repository of versions and their parsed content."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Text, cast, select
from sqlalchemy.orm import Session, aliased

from ingest_svc.lifecycle import (
    ENDED_STATES,
    HOLDING_STATES,
    IN_PROGRESS_STATES,
    LIVE_STATES,
    REOPENABLE_STATES,
    DocumentState,
    check_transition,
    retry_state,
)
from ingest_svc.metadata import DocumentMetadata
from ingest_svc.registry.content_codec import blocks_to_json, content_from_json, report_to_json
from ingest_svc.registry.models import DocumentRow, ParsedContentRow, VersionRow
from ingest_svc.registry.records import Failure, NearDuplicate, ParsedContent, Version
from ingest_svc.registry.supersession import check_no_cycle
from radref.errors import NotFound, PreconditionFailed
from radref.service.actor import LOCAL_ACTOR

# Metadata fields that are taken from the content where the curator gave none.
DERIVABLE = ("title", "language")
_METADATA_FIELDS = (
    "topic", "title", "language", "source_category", "source", "licence", "year", "authority",
    "effective_from", "effective_until",
)  # fmt: skip


def version_record(row: VersionRow) -> Version:
    """The row as a plain value."""
    failure = None
    if row.failure_reason is not None:
        failure = Failure(row.failure_reason, row.failure_message or "", row.failure_retryable)
    return Version(
        document_id=row.document_id,
        version=row.version,
        sha256=row.sha256,
        size_bytes=row.size_bytes,
        file_name=row.file_name,
        state=DocumentState(row.state),
        metadata=DocumentMetadata(
            **{name: getattr(row, name) for name in _METADATA_FIELDS}, supersedes=tuple(row.supersedes)
        ),
        failure=failure,
        parents=row.parents,
        children=row.children,
        created_at=row.created_at,
        updated_at=row.updated_at,
        ended_at=row.ended_at,
        submitted_by=row.submitted_by,
        derived=tuple(row.derived),
        trusted=row.trusted,
        near_duplicates=tuple(NearDuplicate(**twin) for twin in row.near_duplicates),
    )


def add_version(
    session: Session,
    *,
    document_id: str,
    sha256: str,
    size_bytes: int,
    file_name: str,
    metadata: DocumentMetadata,
    now: datetime,
    submitted_by: str = LOCAL_ACTOR,
    trusted: bool | None = None,
) -> Version:
    """Adds the next version (the first one with its document) in state RECEIVED.

    Args:
        trusted: goes live without review, or must not; None = as the site's setting says.
    """
    document = session.get(DocumentRow, document_id)
    if document is None:
        document = DocumentRow(
            document_id=document_id,
            newest_version=1,
            active_version=0,
            index_cleanup=False,
            created_at=now,
            updated_at=now,
        )
        session.add(document)
        # The version's foreign key wants the document's row first.
        session.flush()
    else:
        document.newest_version += 1
        document.updated_at = now
    row = VersionRow(
        document_id=document_id,
        version=document.newest_version,
        sha256=sha256,
        held_sha256=sha256,
        size_bytes=size_bytes,
        file_name=file_name,
        state=DocumentState.RECEIVED.value,
        **{name: getattr(metadata, name) for name in _METADATA_FIELDS},
        supersedes=list(metadata.supersedes),
        submitted_by=submitted_by,
        derived=[name for name in DERIVABLE if not getattr(metadata, name)],
        trusted=trusted,
        failure_retryable=False,
        parents=0,
        children=0,
        created_at=now,
        updated_at=now,
    )
    session.add(row)
    session.flush()
    return version_record(row)


def get_version(session: Session, document_id: str, version: int) -> Version:
    """A version.

    Raises:
        NotFound: UNKNOWN_DOCUMENT or UNKNOWN_VERSION.
    """
    return version_record(_row(session, document_id, version))


def list_versions(session: Session, document_id: str) -> list[Version]:
    """All versions, oldest first; empty for an unknown document."""
    rows = session.scalars(
        select(VersionRow).where(VersionRow.document_id == document_id).order_by(VersionRow.version)
    )
    return [version_record(row) for row in rows]


def list_superseding(session: Session) -> list[Version]:
    """Searched versions that say that they supersede other documents."""
    rows = session.scalars(
        select(VersionRow).where(
            VersionRow.state == DocumentState.INDEXED.value, cast(VersionRow.supersedes, Text) != "[]"
        )
    )
    return [version_record(row) for row in rows]


def find_live(session: Session, sha256: str) -> Version | None:
    """A version with these bytes that counts as already there; one that is held before a superseded one."""
    rows = session.scalars(
        select(VersionRow).where(
            VersionRow.sha256 == sha256, VersionRow.state.in_([state.value for state in LIVE_STATES])
        )
    ).all()
    ordered = sorted(rows, key=lambda row: (row.held_sha256 is None, row.document_id, -row.version))
    return version_record(ordered[0]) if ordered else None


def find_holder(session: Session, sha256: str) -> Version | None:
    """The one version with these bytes that is in progress or searched."""
    row = session.scalars(select(VersionRow).where(VersionRow.held_sha256 == sha256)).one_or_none()
    return version_record(row) if row else None


def find_reopenable(session: Session, sha256: str) -> Version | None:
    """A version with these bytes of a document whose newest version failed, was rejected or withdrawn."""
    newest = aliased(VersionRow)
    row = session.scalars(
        select(VersionRow)
        .join(DocumentRow, DocumentRow.document_id == VersionRow.document_id)
        .join(
            newest,
            (newest.document_id == DocumentRow.document_id) & (newest.version == DocumentRow.newest_version),
        )
        .where(VersionRow.sha256 == sha256, newest.state.in_([state.value for state in REOPENABLE_STATES]))
        .order_by(VersionRow.updated_at.desc(), VersionRow.document_id, VersionRow.version.desc())
        .limit(1)
    ).one_or_none()
    return version_record(row) if row else None


def in_progress(session: Session, document_id: str) -> Version | None:
    """The version that a job works on or that awaits its review; a document has at most one."""
    row = session.scalars(
        select(VersionRow)
        .where(
            VersionRow.document_id == document_id,
            VersionRow.state.in_([state.value for state in IN_PROGRESS_STATES]),
        )
        .order_by(VersionRow.version.desc())
        .limit(1)
    ).one_or_none()
    return version_record(row) if row else None


def change_state(
    session: Session,
    document_id: str,
    version: int,
    new: DocumentState,
    now: datetime,
    *,
    failure: Failure | None = None,
) -> Version:
    """Moves a version along its life cycle; the document's searched version follows.

    Args:
        failure: why, for FAILED only.

    Raises:
        PreconditionFailed: INVALID_STATE, the life cycle does not know this change.
        NotFound: as `get_version`.
    """
    row = _row(session, document_id, version)
    document = session.get_one(DocumentRow, document_id)
    current = DocumentState(row.state)
    check_transition(current, new, document_id, version)
    row.state = new.value
    row.held_sha256 = row.sha256 if new in HOLDING_STATES else None
    row.failed_from = current.value if new is DocumentState.FAILED else None
    row.failure_reason = failure.reason if failure else None
    row.failure_message = failure.message if failure else None
    row.failure_retryable = failure.retryable if failure else False
    if new is DocumentState.INDEXED:
        row.ended_at = None
    elif new in ENDED_STATES and row.ended_at is None:
        row.ended_at = now
    row.updated_at = document.updated_at = now
    if new is DocumentState.INDEXED:
        document.active_version = version
    elif document.active_version == version:
        document.active_version = 0
    session.flush()
    return version_record(row)


def reopen_failed(session: Session, document_id: str, version: int, now: datetime) -> Version:
    """Takes a failed version back to where it failed from.

    Raises:
        PreconditionFailed: INVALID_STATE; it did not fail, a newer version came since, another one is in
            progress, or the same bytes were submitted again meanwhile.
        InvalidInput: INVALID_FIELD, what it supersedes supersedes it meanwhile.
    """
    row = _row(session, document_id, version)
    document = session.get_one(DocumentRow, document_id)
    newest = _row(session, document_id, document.newest_version)
    # A rollback that failed is an older version by number, but nothing came after it.
    if newest.version != version and newest.created_at >= row.updated_at:
        raise PreconditionFailed(
            f"Document {document_id} has a newer version {newest.version}; this one is not retried."
        )
    refuse_in_progress(session, document_id)
    other = find_holder(session, row.sha256)
    if other is not None:
        raise PreconditionFailed(
            f"The same bytes were submitted again as document {other.document_id}, version {other.version}."
        )
    check_no_cycle(session, document_id, row.supersedes)
    failed_from = DocumentState(row.failed_from) if row.failed_from else None
    return change_state(session, document_id, version, retry_state(failed_from), now)


def refuse_in_progress(session: Session, document_id: str) -> None:
    """Makes sure that nothing of a document is in progress.

    Raises:
        PreconditionFailed: INVALID_STATE, naming the version and what to do.
    """
    busy = in_progress(session, document_id)
    if busy is None:
        return
    what = (
        "awaits its review: review it first"
        if busy.state is DocumentState.PARSED
        else "is being processed: wait for its job to end, or withdraw the document"
    )
    raise PreconditionFailed(
        f"Version {busy.version} of document {document_id} ({busy.state}) {what}.",
        field="document_id",
        metadata={"version": str(busy.version), "state": busy.state.value},
    )


def set_counts(session: Session, document_id: str, version: int, parents: int, children: int) -> None:
    """Records how many passages the version has."""
    row = _row(session, document_id, version)
    row.parents, row.children = parents, children


def store_content(
    session: Session, document_id: str, version: int, content: ParsedContent, *, title: str, language: str
) -> None:
    """Stores what parsing and cleaning made, and the title and language that stand from now on."""
    row = _row(session, document_id, version)
    row.title, row.language = title, language
    session.merge(
        ParsedContentRow(
            document_id=document_id,
            version=version,
            title=content.title,
            blocks=blocks_to_json(content.blocks),
            report=report_to_json(content.report),
        )
    )


def load_content(session: Session, document_id: str, version: int) -> ParsedContent | None:
    """What `store_content` stored; None before parsing."""
    row = session.get(ParsedContentRow, (document_id, version))
    return content_from_json(row.title, row.blocks, row.report) if row else None


def _row(session: Session, document_id: str, version: int) -> VersionRow:
    row = session.get(VersionRow, (document_id, version))
    if row is not None:
        return row
    if session.get(DocumentRow, document_id) is None:
        raise NotFound("No document has this id.", reason="UNKNOWN_DOCUMENT", field="document_id")
    raise NotFound("The document has no such version.", reason="UNKNOWN_VERSION", field="version")
