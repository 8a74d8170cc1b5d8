"""Repository of uploaded bytes, in parts, where the database keeps them."""

from __future__ import annotations

from sqlalchemy import Insert, delete, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from ingest_svc.registry.models import BlobPartRow


def put_part(session: Session, sha256: str, ordinal: int, data: bytes) -> None:
    """Stores a part; one that is there with the same bytes is left alone, with other bytes put right.

    Two transactions may store the same blob at once: they take its parts in the same order.
    """
    if get_part(session, sha256, ordinal) == data:
        return
    values = {"sha256": sha256, "ordinal": ordinal, "data": data}
    statement: Insert
    if session.get_bind().dialect.name == "postgresql":
        statement = postgresql.insert(BlobPartRow).values(values)
        statement = statement.on_conflict_do_update(index_elements=["sha256", "ordinal"], set_={"data": data})
    else:
        statement = sqlite.insert(BlobPartRow).values(values)
        statement = statement.on_conflict_do_update(index_elements=["sha256", "ordinal"], set_={"data": data})
    session.execute(statement)


def get_part(session: Session, sha256: str, ordinal: int) -> bytes | None:
    """A part; None = there is none."""
    return session.scalar(
        select(BlobPartRow.data).where(BlobPartRow.sha256 == sha256, BlobPartRow.ordinal == ordinal)
    )


def drop_parts_from(session: Session, sha256: str, ordinal: int) -> None:
    """Forgets the parts of a blob from this one on."""
    session.execute(delete(BlobPartRow).where(BlobPartRow.sha256 == sha256, BlobPartRow.ordinal >= ordinal))
