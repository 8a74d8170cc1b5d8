"""Writes an accepted upload into the registry: version, job and audit event, in one transaction."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from ingest_svc.registry import audit, jobs, versions
from ingest_svc.registry.records import Version
from ingest_svc.uploads.header import UploadHeader


@dataclass(frozen=True, slots=True)
class Sender:
    """Who uploads, and whether it goes live without review (None = as the site's setting says)."""

    actor: str
    trusted: bool | None


def register(
    session: Session,
    document_id: str,
    header: UploadHeader,
    *,
    sha256: str,
    job_id: str,
    sender: Sender,
    now: datetime,
) -> Version:
    """Adds the next version of a document and queues its job; the caller wakes the engine afterwards.

    Args:
        sha256: of the stored bytes, 64 hexadecimal digits.
        job_id: 32 hexadecimal digits.
    """
    version = versions.add_version(
        session,
        document_id=document_id,
        sha256=sha256,
        size_bytes=header.size_bytes,
        file_name=header.file_name,
        metadata=header.metadata,
        now=now,
        submitted_by=sender.actor,
        trusted=sender.trusted,
    )
    jobs.add_job(session, job_id=job_id, document_id=document_id, version=version.version, now=now)
    audit.add_event(
        session,
        at=now,
        actor=sender.actor,
        action="submitted",
        document_id=document_id,
        version=version.version,
    )
    return version
