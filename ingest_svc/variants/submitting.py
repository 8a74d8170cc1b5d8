"""Takes a variant in as a document: a new one, or a new version of the one it has."""

from __future__ import annotations

from collections.abc import AsyncIterator

from ingest_svc.metadata import DocumentMetadata
from ingest_svc.registry import documents
from ingest_svc.registry.database import Database
from ingest_svc.replacing import Replacing
from ingest_svc.submission import Submission, Submitted
from ingest_svc.uploads.header import MAX_CHUNK_BYTES, UploadHeader
from ingest_svc.uploads.receive import UploadPart
from radref.appropriateness.documents import CONSULT_TOPIC, variant_document_id
from radref.appropriateness.model import Variant
from radref.appropriateness.passage import render
from radref.errors import PreconditionFailed

SOURCE_CATEGORY = "appropriateness-criteria"


class SubmittingVariants:
    """The way of a variant into the knowledge base: from there on an upload like any other."""

    def __init__(self, *, database: Database, submission: Submission, replacing: Replacing) -> None:
        self._database = database
        self._submission = submission
        self._replacing = replacing

    async def submit(self, variant: Variant, actor: str) -> Submitted:
        """Stores a variant and queues its job; one that is searched or on its way as it is changes nothing.

        Args:
            variant: one that keeps the rules (`radref.appropriateness.rules`).
            actor: who submits it.

        Raises:
            InvalidInput: UNKNOWN_TOPIC, the site has no collection for variants.
            PreconditionFailed: INVALID_STATE, a job works on the variant's document.
            Unavailable: BACKEND_UNAVAILABLE, the registry does not answer.
        """
        document_id = variant_document_id(variant.id)
        data = render(variant).encode()
        header = UploadHeader(document_id, f"{variant.id}.md", _metadata(variant), len(data))
        known = await self._database.read(lambda session: documents.find_document(session, document_id))
        if known is not None:
            replaced = await self._replacing.replace(_upload(header, data), actor)
            return Submitted(document_id, replaced.version, replaced.job_id, replaced.duplicate)
        submitted = await self._submission.submit(_upload(header, data), actor)
        if submitted.document_id != document_id:
            raise PreconditionFailed(
                f"The passage of this variant is document {submitted.document_id}: withdraw that one.",
                metadata={"document_id": submitted.document_id, "version": str(submitted.version)},
            )
        return submitted


def _metadata(variant: Variant) -> DocumentMetadata:
    return DocumentMetadata(
        topic=CONSULT_TOPIC,
        title=variant.title,
        language=_language(variant),
        source_category=SOURCE_CATEGORY,
        source=f"Appropriateness knowledge base {variant.kb_version}",
    )


def _language(variant: Variant) -> str:
    """Russian where most letters of its prose are Cyrillic; every other base is taken for an English one."""
    letters = [letter for letter in f"{variant.title} {variant.narrative}" if letter.isalpha()]
    cyrillic = sum("\u0400" <= letter <= "\u04ff" for letter in letters)
    return "ru" if 2 * cyrillic > len(letters) else "en"


async def _upload(header: UploadHeader, data: bytes) -> AsyncIterator[UploadPart]:
    yield header
    for start in range(0, len(data), MAX_CHUNK_BYTES):
        yield data[start : start + MAX_CHUNK_BYTES]
