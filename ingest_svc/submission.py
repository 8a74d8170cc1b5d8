"""Takes a document in: bytes and registry entry are on disk before the answer, or nothing is."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

from sqlalchemy.orm import Session

from ingest_svc.blobs.ports import Blobs
from ingest_svc.document_ids import derived_document_id
from ingest_svc.jobs.journal import utc_now
from ingest_svc.lifecycle import REOPENABLE_STATES
from ingest_svc.registry import documents, versions
from ingest_svc.registry.database import Database
from ingest_svc.registry.supersession import check_no_cycle
from ingest_svc.uploads.header import UploadHeader, UploadLimits, check_submission
from ingest_svc.uploads.receive import UploadPart, receive_bytes, receive_header
from ingest_svc.uploads.register import Sender, register
from radref.errors import PreconditionFailed
from radref.service.actor import LOCAL_ACTOR


@dataclass(frozen=True, slots=True)
class Submitted:
    """Mirrors radref.api.ingest.v1.SubmitDocumentResponse."""

    document_id: str
    version: int
    job_id: str
    duplicate: bool


class Submission:
    """Accepts uploads."""

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

    async def submit(
        self, parts: AsyncIterator[UploadPart], actor: str = LOCAL_ACTOR, *, trusted: bool | None = None
    ) -> Submitted:
        """Stores an upload and queues its job; the same bytes again are answered with what is there.

        Args:
            actor: who uploads.
            trusted: goes live without review, or must not; None = as the site's setting says.

        Raises:
            InvalidInput: the header, its metadata or the stream is not acceptable, or the document would
                supersede itself.
            PreconditionFailed: INVALID_STATE, the document id is taken by other bytes.
            Unavailable: BACKEND_UNAVAILABLE, the registry does not answer.
        """
        header = await receive_header(parts, lambda announced: check_submission(announced, self._limits))
        sender = Sender(actor, trusted)
        async with self._blobs.new_blob() as blob:
            await receive_bytes(parts, header.size_bytes, blob)
            await blob.keep()
            submitted = await self._database.write(
                lambda session: _register(session, header, blob.sha256, uuid.uuid4().hex, sender)
            )
        if not submitted.duplicate:
            self._wake()
        return submitted


def _register(session: Session, header: UploadHeader, sha256: str, job_id: str, sender: Sender) -> Submitted:
    live = versions.find_live(session, sha256)
    if live is not None:
        return Submitted(live.document_id, live.version, "", duplicate=True)
    document_id = header.document_id or _id_of_content(session, header.file_name, sha256)
    existing = documents.find_document(session, document_id)
    if existing is not None and (
        existing.newest.state not in REOPENABLE_STATES or existing.active_version != 0
    ):
        raise PreconditionFailed(
            f"Document {document_id} exists with other content (version {existing.newest.version}, "
            f"{existing.newest.state}). ReplaceDocument uploads a new version of it; a new document needs "
            "another id.",
            field="header.document_id",
        )
    # The newest version may have ended while an older one is on its way back.
    versions.refuse_in_progress(session, document_id)
    check_no_cycle(session, document_id, header.metadata.supersedes)
    version = register(
        session, document_id, header, sha256=sha256, job_id=job_id, sender=sender, now=utc_now()
    )
    return Submitted(document_id, version.version, job_id, duplicate=False)


def _id_of_content(session: Session, file_name: str, sha256: str) -> str:
    # The same bytes under another file name are still the document they were.
    earlier = versions.find_reopenable(session, sha256)
    return earlier.document_id if earlier else derived_document_id(file_name, sha256)
