"""Repository of kept vectors: nothing of a document is embedded twice by one model."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Collection, Mapping

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from ingest_svc.registry.models import ChildVectorRow

Vector = tuple[float, ...]


def text_key(text: str) -> str:
    """Key of the text a vector stands for, 64 hexadecimal digits."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def store_vectors(
    session: Session, document_id: str, fingerprint: str, vectors: Mapping[str, Vector]
) -> None:
    """Keeps vectors of one model by `text_key`, as 32-bit floats."""
    for key, vector in vectors.items():
        session.merge(
            ChildVectorRow(
                document_id=document_id,
                fingerprint=fingerprint,
                text_sha256=key,
                vector=struct.pack(f"<{len(vector)}f", *vector),
            )
        )


def load_vectors(session: Session, document_id: str, fingerprint: str) -> dict[str, Vector]:
    """What was kept of this model, by `text_key`."""
    rows = session.execute(
        select(ChildVectorRow.text_sha256, ChildVectorRow.vector).where(
            ChildVectorRow.document_id == document_id, ChildVectorRow.fingerprint == fingerprint
        )
    )
    return {key: struct.unpack(f"<{len(vector) // 4}f", vector) for key, vector in rows}


def drop_vectors(session: Session, document_id: str, *, keep: Collection[str] = ()) -> None:
    """Forgets the vectors of a document but those with the keys `keep`."""
    kept = frozenset(keep)
    stored = session.execute(
        select(ChildVectorRow.fingerprint, ChildVectorRow.text_sha256).where(
            ChildVectorRow.document_id == document_id
        )
    ).all()
    if not kept:
        session.execute(delete(ChildVectorRow).where(ChildVectorRow.document_id == document_id))
        return
    for fingerprint, key in stored:
        if key not in kept:
            session.execute(
                delete(ChildVectorRow).where(
                    ChildVectorRow.document_id == document_id,
                    ChildVectorRow.fingerprint == fingerprint,
                    ChildVectorRow.text_sha256 == key,
                )
            )
