"""Which documents say that they supersede which others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from ingest_svc.lifecycle import HOLDING_STATES
from ingest_svc.registry.models import DocumentRow, VersionRow
from radref.errors import InvalidInput

_FIELD = "header.metadata.supersedes"


def check_no_cycle(session: Session, document_id: str, supersedes: Iterable[str]) -> None:
    """Refuses that a document supersedes itself, directly or through others that are in progress or searched.

    Raises:
        InvalidInput: INVALID_FIELD, naming the documents of the cycle in order.
    """
    came_from: dict[str, str] = {}
    nearest = sorted(set(supersedes))
    for older in nearest:
        came_from[older] = document_id
    while nearest:
        if document_id in came_from:
            cycle = _path_back(came_from, document_id)
            raise InvalidInput(
                f"A document cannot supersede itself: {' supersedes '.join(cycle)}.", field=_FIELD
            )
        found: dict[str, str] = {}
        for newer, older in _named_by(session, nearest):
            if older not in came_from:
                found.setdefault(older, newer)
        came_from.update(found)
        nearest = sorted(found)


def unknown_documents(session: Session, document_ids: Sequence[str]) -> list[str]:
    """Which of these ids no document has, in the order given."""
    known = set(
        session.scalars(select(DocumentRow.document_id).where(DocumentRow.document_id.in_(document_ids)))
    )
    return [document_id for document_id in document_ids if document_id not in known]


def supersession_warnings(session: Session, supersedes: Sequence[str]) -> tuple[str, ...]:
    """What a reviewer is told of superseded ids that do not exist (they may come later)."""
    if not supersedes:
        return ()
    unknown = unknown_documents(session, supersedes)
    return (f"supersedes documents that do not exist here: {', '.join(unknown)}",) if unknown else ()


def _named_by(session: Session, document_ids: Sequence[str]) -> list[tuple[str, str]]:
    """(document, superseded id) of what these documents' versions in progress or searched say."""
    rows = session.execute(
        select(VersionRow.document_id, VersionRow.supersedes)
        .where(
            VersionRow.document_id.in_(document_ids),
            VersionRow.state.in_([state.value for state in HOLDING_STATES]),
        )
        .order_by(VersionRow.document_id, VersionRow.version)
    )
    return [(newer, older) for newer, supersedes in rows for older in supersedes]


def _path_back(came_from: dict[str, str], document_id: str) -> list[str]:
    path = [document_id]
    while len(path) == 1 or path[-1] != document_id:
        path.append(came_from[path[-1]])
    return path[::-1]
