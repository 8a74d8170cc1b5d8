"""Repository of passages."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import delete, insert, select
from sqlalchemy.orm import Session

from ingest_svc.registry import audit
from ingest_svc.registry.models import PassageRow
from ingest_svc.registry.records import Passage


def replace_passages(session: Session, document_id: str, version: int, passages: Sequence[Passage]) -> None:
    """Stores the passages of a version that is not searched yet, in place of those of an earlier attempt.

    Those of a version that was searched once stay: somebody may have cited them. Cut by the same rules it has
    the same passages again.
    """
    own = (PassageRow.document_id == document_id, PassageRow.version == version)
    if not audit.was_indexed(session, document_id, version):
        session.execute(delete(PassageRow).where(*own))
    kept = set(session.scalars(select(PassageRow.citation_id).where(*own)))
    new = [passage for passage in passages if passage.citation_id not in kept]
    if new:
        session.execute(
            insert(PassageRow),
            [
                {
                    "citation_id": passage.citation_id,
                    "document_id": passage.document_id,
                    "version": passage.version,
                    "ordinal": passage.ordinal,
                    "text": passage.text,
                    "section_path": list(passage.section_path),
                    "page_first": passage.pages[0] if passage.pages else None,
                    "page_last": passage.pages[1] if passage.pages else None,
                }
                for passage in new
            ],
        )


def find_passage(session: Session, citation_id: str) -> Passage | None:
    """The passage of a citation, of any version."""
    row = session.scalars(select(PassageRow).where(PassageRow.citation_id == citation_id)).one_or_none()
    if row is None:
        return None
    pages = None
    if row.page_first is not None and row.page_last is not None:
        pages = (row.page_first, row.page_last)
    return Passage(
        row.citation_id, row.document_id, row.version, row.ordinal, row.text, tuple(row.section_path), pages
    )
