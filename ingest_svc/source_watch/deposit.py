"""The way of a watched source into the knowledge base: an upload like any other."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass

from ingest_svc.lifecycle import REOPENABLE_STATES, DocumentState
from ingest_svc.metadata import DocumentMetadata
from ingest_svc.registry import documents
from ingest_svc.registry.database import Database
from ingest_svc.replacing import Replacing
from ingest_svc.source_watch.model import Content
from ingest_svc.submission import Submission
from ingest_svc.uploads.header import MAX_CHUNK_BYTES, UploadHeader
from ingest_svc.uploads.receive import UploadPart
from radref.errors import PreconditionFailed


@dataclass(frozen=True, slots=True)
class Deposited:
    """The document that a content became, or is already."""

    document_id: str
    version: int
    duplicate: bool


class KnowledgeBaseDeposit:
    """Submits what is new and replaces what changed."""

    def __init__(self, *, database: Database, submission: Submission, replacing: Replacing) -> None:
        self._database = database
        self._submission = submission
        self._replacing = replacing

    async def put(
        self, document_id: str, content: Content, metadata: DocumentMetadata, *, actor: str, trusted: bool
    ) -> Deposited:
        """A new document, or a new version of it; the same bytes again change nothing.

        Raises:
            PreconditionFailed: INVALID_STATE, the document was withdrawn, or a job works on it.
            RadrefError: as `Submission.submit` and `Replacing.replace`.
        """
        known = await self._database.read(lambda session: documents.find_document(session, document_id))
        parts = _upload(
            UploadHeader(document_id, content.file_name, metadata, len(content.data)), content.data
        )
        if known is None:
            submitted = await self._submission.submit(parts, actor, trusted=trusted)
            return Deposited(submitted.document_id, submitted.version, submitted.duplicate)
        if known.newest.state is DocumentState.WITHDRAWN:
            # What a curator took away does not come back by itself.
            raise PreconditionFailed(
                f"Document {document_id} was withdrawn, and its source changed: upload it to bring it back.",
                metadata={"document_id": document_id},
            )
        if known.active_version == 0 and known.newest.state in REOPENABLE_STATES:
            submitted = await self._submission.submit(parts, actor, trusted=trusted)
            return Deposited(submitted.document_id, submitted.version, submitted.duplicate)
        replaced = await self._replacing.replace(parts, actor, trusted=trusted)
        return Deposited(document_id, replaced.version, replaced.duplicate)


async def _upload(header: UploadHeader, data: bytes) -> AsyncIterator[UploadPart]:
    yield header
    for start in range(0, len(data), MAX_CHUNK_BYTES):
        yield data[start : start + MAX_CHUNK_BYTES]
