"""Repository of the vectors of unfinished jobs: a big document's embedding survives a crash half-way."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Mapping, Sequence

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from ingest_svc.registry.models import JobVectorRow

Vector = tuple[float, ...]


def text_key(text: str) -> str:
    """Key of the text a vector stands for, 64 hexadecimal digits."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def store_vectors(session: Session, job_id: str, fingerprint: str, vectors: Mapping[str, Vector]) -> None:
    """Keeps vectors of one model by `text_key`, as 32-bit floats."""
    for key, vector in vectors.items():
        session.merge(
            JobVectorRow(
                job_id=job_id,
                text_sha256=key,
                fingerprint=fingerprint,
                vector=struct.pack(f"<{len(vector)}f", *vector),
            )
        )


def load_vectors(session: Session, job_id: str, fingerprint: str) -> dict[str, Vector]:
    """What was kept of this model, by `text_key`."""
    rows: Sequence[tuple[str, bytes]] = [
        (key, vector)
        for key, vector in session.execute(
            select(JobVectorRow.text_sha256, JobVectorRow.vector).where(
                JobVectorRow.job_id == job_id, JobVectorRow.fingerprint == fingerprint
            )
        )
    ]
    return {key: struct.unpack(f"<{len(vector) // 4}f", vector) for key, vector in rows}


def drop_vectors(session: Session, job_id: str) -> None:
    """Forgets all vectors of a job."""
    session.execute(delete(JobVectorRow).where(JobVectorRow.job_id == job_id))
