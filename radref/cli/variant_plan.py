"""What loading a knowledge base file would change: each variant compared with the document it has."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, fields
from enum import StrEnum

from radref.api.common.v1 import documents_pb2 as docs
from radref.api.ingest.v1 import ingest_pb2
from radref.appropriateness.documents import CONSULT_TOPIC, is_variant_document, variant_document_id
from radref.appropriateness.model import Variant
from radref.appropriateness.passage import parse, render
from radref.knowledge_base import KnowledgeBase

# What the file calls the fields of a variant, where that differs.
_FIELD_NAMES = {"topic_id": "topic", "topic_title": "topic", "kb_version": "version of the file"}


class Change(StrEnum):
    """What loading does with a variant."""

    NEW = "new"
    CHANGED = "changed"
    UNCHANGED = "unchanged"
    SKIPPED = "skipped"
    MISSING = "not in the file"
    WITHDRAWN = "withdrawn"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Step:
    """A variant and what is to be done, or was done, with it.

    Attributes:
        variant_id: as in the file.
        document_id: of its document.
        change: what.
        note: for the curator: which fields changed, or why nothing is done.
        variant: what is sent; None where the document is not in the file.
        waits: its newest version waits for a review.
    """

    variant_id: str
    document_id: str
    change: Change
    note: str = ""
    variant: Variant | None = None
    waits: bool = False


async def make_plan(kb: KnowledgeBase, variants: Sequence[Variant], *, reopen: bool) -> list[Step]:
    """A step for each variant, in the order of the file, then one for each document that the file lacks.

    Args:
        reopen: also bring back what was withdrawn or rejected.
    """
    there = {
        document.document_id: document
        async for document in kb.list_documents(topics=[CONSULT_TOPIC])
        if is_variant_document(document.document_id)
    }
    steps = [await _step(kb, variant, there, reopen) for variant in variants]
    named = {step.document_id for step in steps}
    return steps + [
        Step(document_id.removeprefix(variant_document_id("")), document_id, Change.MISSING)
        for document_id, document in sorted(there.items())
        if document_id not in named and _is_in_force(document)
    ]


async def _step(
    kb: KnowledgeBase, variant: Variant, there: dict[str, ingest_pb2.DocumentSummary], reopen: bool
) -> Step:
    document_id = variant_document_id(variant.id)

    def step(change: Change, note: str = "", *, waits: bool = False) -> Step:
        return Step(variant.id, document_id, change, note, variant, waits)

    newest = there.get(document_id)
    if newest is None:
        return step(Change.NEW)
    same = newest.sha256 == hashlib.sha256(render(variant).encode()).hexdigest()
    if newest.state == docs.DOCUMENT_STATE_WITHDRAWN and not reopen:
        return step(Change.SKIPPED, "it was withdrawn; --reopen brings it back")
    if newest.state == docs.DOCUMENT_STATE_REJECTED and same and not reopen:
        return step(Change.SKIPPED, f"version {newest.version} was rejected; --reopen sends it again")
    if same and newest.state == docs.DOCUMENT_STATE_PARSED:
        return step(Change.UNCHANGED, f"version {newest.version} waits for review", waits=True)
    if same and _is_in_force(newest) and newest.state != docs.DOCUMENT_STATE_SUPERSEDED:
        return step(Change.UNCHANGED)
    if newest.state == docs.DOCUMENT_STATE_WITHDRAWN:
        return step(Change.NEW, "it was withdrawn before")
    stored = await _stored(kb, newest)
    if stored == variant and newest.active_version:
        return step(Change.UNCHANGED, f"as version {newest.active_version}, which is searched")
    return step(Change.CHANGED, _difference(stored, variant))


def _is_in_force(document: ingest_pb2.DocumentSummary) -> bool:
    """Whether it is searched, or on its way there."""
    return bool(document.active_version) or document.state in (
        docs.DOCUMENT_STATE_RECEIVED,
        docs.DOCUMENT_STATE_PARSED,
        docs.DOCUMENT_STATE_APPROVED,
    )


async def _stored(kb: KnowledgeBase, document: ingest_pb2.DocumentSummary) -> Variant | None:
    """The variant that is searched, else the newest one; None where it was never read."""
    response = await kb.get_document(document.document_id, version=document.active_version)
    try:
        return parse(response.markdown)
    except ValueError:
        return None


def _difference(before: Variant | None, after: Variant) -> str:
    if before is None:
        return ""
    names = [
        _FIELD_NAMES.get(field.name, field.name)
        for field in fields(Variant)
        if getattr(before, field.name) != getattr(after, field.name)
    ]
    return ", ".join(dict.fromkeys(names))
