"""Appropriateness variants: each is a document of its own, whose one passage is its canonical text."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass

from ingest_svc.lifecycle import REOPENABLE_STATES
from ingest_svc.metadata import DocumentMetadata
from ingest_svc.registry import documents
from ingest_svc.registry.database import Database
from ingest_svc.replacing import Replacing
from ingest_svc.submission import Submission
from ingest_svc.uploads.header import MAX_CHUNK_BYTES, UploadHeader
from ingest_svc.uploads.receive import UploadPart
from radref.appropriateness.model import Variant
from radref.appropriateness.passage import render
from radref.errors import PreconditionFailed

# The collection that Consult searches, and nobody else unless asked to (DESIGN section 3).
TOPIC = "consult"
SOURCE_CATEGORY = "appropriateness"


@dataclass(frozen=True, slots=True)
class VariantSubmitted:
    """Mirrors radref.api.ingest.v1.SubmitVariantResponse; `job_id` is empty when nothing changed."""

    document_id: str
    version: int
    job_id: str


def document_id_of(variant: Variant) -> str:
    """`variant.` and the variant's id: the same variant is the same document in every version of its base."""
    return f"variant.{variant.id}"


class SubmitVariant:
    """Takes a variant in: a new document, or a new version of its document."""

    def __init__(self, *, database: Database, submission: Submission, replacing: Replacing) -> None:
        self._database = database
        self._submission = submission
        self._replacing = replacing

    async def submit(self, variant: Variant, actor: str) -> VariantSubmitted:
        """Stores a variant and queues its job; one that is there already, word for word, changes nothing.

        Raises:
            PreconditionFailed: INVALID_STATE, a job works on it, or another document holds the same text.
            Unavailable: BACKEND_UNAVAILABLE, the registry does not answer.
        """
        document_id = document_id_of(variant)
        data = render(variant).encode("utf-8")
        header = UploadHeader(
            document_id,
            f"{variant.id}.md",
            DocumentMetadata(
                topic=TOPIC,
                title=variant.title,
                source_category=SOURCE_CATEGORY,
                source=f"appropriateness knowledge base {variant.kb_version}",
            ),
            len(data),
        )
        known = await self._database.read(lambda session: documents.find_document(session, document_id))
        if known is None or (known.active_version == 0 and known.newest.state in REOPENABLE_STATES):
            submitted = await self._submission.submit(_upload(header, data), actor)
            if submitted.document_id != document_id:
                raise PreconditionFailed(
                    f"Document {submitted.document_id} holds this text already: withdraw it first.",
                    metadata={"document_id": submitted.document_id},
                )
            return VariantSubmitted(document_id, submitted.version, submitted.job_id)
        replaced = await self._replacing.replace(_upload(header, data), actor)
        return VariantSubmitted(document_id, replaced.version, replaced.job_id)


async def _upload(header: UploadHeader, data: bytes) -> AsyncIterator[UploadPart]:
    yield header
    for start in range(0, len(data), MAX_CHUNK_BYTES):
        yield data[start : start + MAX_CHUNK_BYTES]
