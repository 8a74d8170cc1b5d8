"""Takes a new version of a document in; the version that is searched goes on being searched meanwhile."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from ingest_svc.blobs.ports import Blobs
from ingest_svc.inherited_metadata import inherit
from ingest_svc.jobs.journal import utc_now
from ingest_svc.lifecycle import FINAL_STAGES, DocumentState
from ingest_svc.metadata import check_metadata
from ingest_svc.registry import audit, documents, jobs, versions
from ingest_svc.registry.database import Database
from ingest_svc.registry.records import Version
from ingest_svc.registry.supersession import check_no_cycle
from ingest_svc.uploads.header import UploadHeader, UploadLimits, check_replacement
from ingest_svc.uploads.receive import UploadPart, receive_bytes, receive_header
from ingest_svc.uploads.register import Sender, register
from radref.errors import PreconditionFailed


@dataclass(frozen=True, slots=True)
class Replaced:
    """Mirrors radref.api.ingest.v1.ReplaceDocumentResponse."""

    version: int
    job_id: str
    duplicate: bool


class Replacing:
    """Accepts uploads of new versions."""

    def __init__(
        self,
        *,
        database: Database,
        blobs: Blobs,
        limits: UploadLimits,
        wake: Callable[[], None],
    ) -> None:
        """
        Args:
            wake: told after a job was queued.
        """
        self._database = database
        self._blobs = blobs
        self._limits = limits
        self._wake = wake

    async def replace(
        self, parts: AsyncIterator[UploadPart], actor: str, *, trusted: bool | None = None
    ) -> Replaced:
        """Stores the next version of a document and queues its job.

        Metadata fields left empty keep what the searched version says (the newest, where none is searched).
        A version that awaits its review is superseded by the newer upload.

        Args:
            actor: who uploads.
            trusted: goes live without review, or must not; None = as the site's setting says.

        Raises:
            InvalidInput: the header, its metadata or the stream is not acceptable, or the document would
                supersede itself.
            NotFound: UNKNOWN_DOCUMENT.
            PreconditionFailed: INVALID_STATE, another version is being processed, or another document holds
                the same bytes.
            Unavailable: BACKEND_UNAVAILABLE, the registry does not answer.
        """
        header = await receive_header(parts, lambda announced: check_replacement(announced, self._limits))
        # Before the bytes: a refusal should not cost an upload.
        await self._database.read(lambda session: self._with_metadata(session, header))
        sender = Sender(actor, trusted)
        async with self._blobs.new_blob() as blob:
            await receive_bytes(parts, header.size_bytes, blob)
            await blob.keep()
            replaced = await self._database.write(
                lambda session: self._register(session, header, blob.sha256, uuid.uuid4().hex, sender)
            )
        if not replaced.duplicate:
            self._wake()
        return replaced

    def _with_metadata(self, session: Session, header: UploadHeader) -> UploadHeader:
        """The header with the metadata that the new version will have."""
        document = documents.get_document(session, header.document_id)
        before = document.newest
        if document.active_version:
            before = versions.get_version(session, document.document_id, document.active_version)
        metadata = inherit(header.metadata, before.metadata, derived=before.derived)
        check_metadata(metadata, self._limits.topics)
        check_no_cycle(session, document.document_id, metadata.supersedes)
        return UploadHeader(header.document_id, header.file_name, metadata, header.size_bytes)

    def _register(
        self, session: Session, announced: UploadHeader, sha256: str, job_id: str, sender: Sender
    ) -> Replaced:
        header = self._with_metadata(session, announced)
        document_id = header.document_id
        holder = versions.find_holder(session, sha256)
        if holder is not None:
            if holder.document_id == document_id:
                return Replaced(holder.version, "", duplicate=True)
            raise PreconditionFailed(
                f"These bytes are version {holder.version} of document {holder.document_id} "
                f"({holder.state}). The same content cannot be two documents: withdraw one of them.",
                field="header.document_id",
                metadata={"document_id": holder.document_id, "version": str(holder.version)},
            )
        now = utc_now()
        pending = _overtakable(session, document_id)
        version = register(session, document_id, header, sha256=sha256, job_id=job_id, sender=sender, now=now)
        if pending is not None:
            _overtake(session, pending, version, sender.actor, now)
        return Replaced(version.version, job_id, duplicate=False)


def _overtakable(session: Session, document_id: str) -> Version | None:
    """The version that awaits its review; None when nothing is in progress.

    Raises:
        PreconditionFailed: INVALID_STATE, a job works on a version.
    """
    pending = versions.in_progress(session, document_id)
    if pending is None:
        return None
    job = jobs.newest_job(session, document_id, pending.version)
    if pending.state is not DocumentState.PARSED or (job is not None and job.stage not in FINAL_STAGES):
        versions.refuse_in_progress(session, document_id)
    return pending


def _overtake(session: Session, pending: Version, newer: Version, actor: str, now: datetime) -> None:
    versions.change_state(session, pending.document_id, pending.version, DocumentState.SUPERSEDED, now)
    audit.add_event(
        session,
        at=now,
        actor=actor,
        action="superseded",
        document_id=pending.document_id,
        version=pending.version,
        reason=f"version {newer.version} was uploaded before this one was reviewed",
    )
