"""What curators do, as typed calls of the ingest service: upload, review, versions, upkeep, audit."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Iterator, Sequence
from typing import TypeVar

import grpc

from radref import rpc
from radref.api.common.v1 import documents_pb2
from radref.api.ingest.v1 import appropriateness_pb2, ingest_pb2, ingest_pb2_grpc
from radref.errors import Unavailable
from radref.service.actor import actor_metadata

LOOKUP_TIMEOUT_SECONDS = 15.0
UPLOAD_TIMEOUT_SECONDS = 300.0
# A scan of hundreds of pages is read page by page; the service itself ends what takes longer.
PARSE_TIMEOUT_SECONDS = 7200.0
# Reads two long texts and compares them.
DIFF_TIMEOUT_SECONDS = 60.0
# Compares every document, and may write many of them anew.
VERIFY_TIMEOUT_SECONDS = 3600.0
UPLOAD_CHUNK_BYTES = 512 * 1024
# A restarted service is back within seconds; asking more often would only load it.
RECONNECT_SECONDS = 1.0
# Longer than the restart of any service; after it a lost job is a failure worth telling.
LOST_SECONDS = 120.0

T = TypeVar("T")


class KnowledgeBase:
    """The documents of one radref.

    Args:
        channel: to the ingest service; stays the caller's to close.
        actor: name for the audit trail, 1-200 printable characters; empty = the service writes "local".

    Every method takes `timeout` in seconds and raises a RadrefError: Unavailable when the service does not
    answer, DeadlineExceeded when it takes too long, InvalidInput, NotFound and PreconditionFailed with the
    reason the service gave.
    """

    def __init__(self, channel: grpc.aio.Channel, *, actor: str = "") -> None:
        self._stub = ingest_pb2_grpc.IngestServiceStub(channel)
        self._metadata = actor_metadata(actor)

    async def submit_file(
        self,
        data: bytes,
        file_name: str,
        metadata: documents_pb2.DocumentMetadata,
        *,
        document_id: str = "",
        timeout: float = UPLOAD_TIMEOUT_SECONDS,
    ) -> ingest_pb2.SubmitDocumentResponse:
        """Uploads a document; follow `job_id` with `watch_job`."""
        header = ingest_pb2.UploadHeader(
            document_id=document_id, file_name=file_name, metadata=metadata, size_bytes=len(data)
        )

        def messages() -> Iterator[ingest_pb2.SubmitDocumentRequest]:
            yield ingest_pb2.SubmitDocumentRequest(header=header)
            for piece in _pieces(data):
                yield ingest_pb2.SubmitDocumentRequest(chunk=piece)

        return await _call(self._stub.SubmitDocument(messages(), timeout=timeout, metadata=self._metadata))

    async def replace_file(
        self,
        document_id: str,
        data: bytes,
        file_name: str,
        metadata: documents_pb2.DocumentMetadata,
        *,
        timeout: float = UPLOAD_TIMEOUT_SECONDS,
    ) -> ingest_pb2.ReplaceDocumentResponse:
        """Uploads a new version of a document; follow `job_id` with `watch_job`."""
        header = ingest_pb2.UploadHeader(
            document_id=document_id, file_name=file_name, metadata=metadata, size_bytes=len(data)
        )

        def messages() -> Iterator[ingest_pb2.ReplaceDocumentRequest]:
            yield ingest_pb2.ReplaceDocumentRequest(header=header)
            for piece in _pieces(data):
                yield ingest_pb2.ReplaceDocumentRequest(chunk=piece)

        return await _call(self._stub.ReplaceDocument(messages(), timeout=timeout, metadata=self._metadata))

    async def parse_file(
        self, data: bytes, file_name: str, *, timeout: float = PARSE_TIMEOUT_SECONDS
    ) -> ingest_pb2.ParseDocumentResponse:
        """Parses a file without keeping it."""
        header = ingest_pb2.UploadHeader(file_name=file_name, size_bytes=len(data))

        def messages() -> Iterator[ingest_pb2.ParseDocumentRequest]:
            yield ingest_pb2.ParseDocumentRequest(header=header)
            for piece in _pieces(data):
                yield ingest_pb2.ParseDocumentRequest(chunk=piece)

        return await _call(self._stub.ParseDocument(messages(), timeout=timeout, metadata=self._metadata))

    async def submit_variant(
        self, variant: appropriateness_pb2.AppropriatenessVariant, *, timeout: float = LOOKUP_TIMEOUT_SECONDS
    ) -> ingest_pb2.SubmitVariantResponse:
        """Stores one appropriateness variant."""
        request = ingest_pb2.SubmitVariantRequest(variant=variant)
        return await _call(self._stub.SubmitVariant(request, timeout=timeout, metadata=self._metadata))

    async def watch_job(self, job_id: str, *, timeout: float = 3600.0) -> AsyncIterator[ingest_pb2.Job]:
        """States of a job until it ends; the current one first.

        `timeout` holds for the whole stream. A job outlives the process that works on it, so a lost
        connection is made anew; Unavailable after LOST_SECONDS without an answer.
        """
        request = ingest_pb2.WatchJobRequest(job_id=job_id)
        deadline = time.monotonic() + timeout
        lost_since: float | None = None
        while True:
            remaining = max(0.001, deadline - time.monotonic())
            messages = self._stub.WatchJob(request, timeout=remaining, metadata=self._metadata)
            try:
                async for response in rpc.stream(messages, "ingest"):
                    lost_since = None
                    yield response.job
            except Unavailable:
                # Counted from the loss: a job may have nothing to say for hours before it.
                now = time.monotonic()
                lost_since = now if lost_since is None else lost_since
                if now - lost_since > LOST_SECONDS:
                    raise
                await asyncio.sleep(RECONNECT_SECONDS)
            else:
                return

    async def retry_job(self, job_id: str, *, timeout: float = LOOKUP_TIMEOUT_SECONDS) -> ingest_pb2.Job:
        """Runs a failed job again."""
        request = ingest_pb2.RetryJobRequest(job_id=job_id)
        response: ingest_pb2.RetryJobResponse = await _call(
            self._stub.RetryJob(request, timeout=timeout, metadata=self._metadata)
        )
        return response.job

    async def list_page(
        self,
        *,
        states: Sequence[documents_pb2.DocumentState.ValueType] = (),
        topics: Sequence[str] = (),
        page_size: int = 0,
        page_token: str = "",
        timeout: float = LOOKUP_TIMEOUT_SECONDS,
    ) -> ingest_pb2.ListDocumentsResponse:
        """One page of the documents that match. `page_size` 1-1000; 0 = the service's own."""
        request = ingest_pb2.ListDocumentsRequest(
            states=states, topics=topics, page_size=page_size, page_token=page_token
        )
        return await _call(self._stub.ListDocuments(request, timeout=timeout, metadata=self._metadata))

    async def list_documents(
        self,
        *,
        states: Sequence[documents_pb2.DocumentState.ValueType] = (),
        topics: Sequence[str] = (),
        timeout: float = LOOKUP_TIMEOUT_SECONDS,
    ) -> AsyncIterator[ingest_pb2.DocumentSummary]:
        """Every document that matches, page by page. `timeout` is for a page."""
        token = ""
        while True:
            response = await self.list_page(
                states=states, topics=topics, page_size=200, page_token=token, timeout=timeout
            )
            for document in response.documents:
                yield document
            token = response.next_page_token
            if not token:
                return

    async def get_document(
        self, document_id: str, *, version: int = 0, timeout: float = LOOKUP_TIMEOUT_SECONDS
    ) -> ingest_pb2.GetDocumentResponse:
        """A version with its parsed Markdown and parse report. `version` 0 = the newest."""
        request = ingest_pb2.GetDocumentRequest(document_id=document_id, version=version)
        return await _call(self._stub.GetDocument(request, timeout=timeout, metadata=self._metadata))

    async def get_passage(
        self, citation_id: str, *, timeout: float = LOOKUP_TIMEOUT_SECONDS
    ) -> ingest_pb2.GetPassageResponse:
        """The passage behind a citation, of any version ever indexed."""
        request = ingest_pb2.GetPassageRequest(citation_id=citation_id)
        return await _call(self._stub.GetPassage(request, timeout=timeout, metadata=self._metadata))

    async def list_versions(
        self, document_id: str, *, timeout: float = LOOKUP_TIMEOUT_SECONDS
    ) -> Sequence[ingest_pb2.DocumentSummary]:
        """Every version of a document, oldest first."""
        request = ingest_pb2.ListVersionsRequest(document_id=document_id)
        response: ingest_pb2.ListVersionsResponse = await _call(
            self._stub.ListVersions(request, timeout=timeout, metadata=self._metadata)
        )
        return response.versions

    async def diff_versions(
        self,
        document_id: str,
        from_version: int,
        to_version: int,
        *,
        timeout: float = DIFF_TIMEOUT_SECONDS,
    ) -> Sequence[ingest_pb2.SectionDiff]:
        """The sections that differ, in the order of the document."""
        request = ingest_pb2.DiffVersionsRequest(
            document_id=document_id, from_version=from_version, to_version=to_version
        )
        response: ingest_pb2.DiffVersionsResponse = await _call(
            self._stub.DiffVersions(request, timeout=timeout, metadata=self._metadata)
        )
        return response.sections

    async def review_document(
        self,
        document_id: str,
        version: int,
        decision: ingest_pb2.ReviewDecision.ValueType,
        *,
        comment: str = "",
        timeout: float = LOOKUP_TIMEOUT_SECONDS,
    ) -> ingest_pb2.ReviewDocumentResponse:
        """Approves or rejects a parsed version; a rejection needs a comment."""
        request = ingest_pb2.ReviewDocumentRequest(
            document_id=document_id, version=version, decision=decision, comment=comment
        )
        return await _call(self._stub.ReviewDocument(request, timeout=timeout, metadata=self._metadata))

    async def rollback_document(
        self, document_id: str, version: int, reason: str, *, timeout: float = LOOKUP_TIMEOUT_SECONDS
    ) -> ingest_pb2.RollbackDocumentResponse:
        """Goes back to an earlier version without parsing it; follow `job_id` with `watch_job`."""
        request = ingest_pb2.RollbackDocumentRequest(document_id=document_id, version=version, reason=reason)
        return await _call(self._stub.RollbackDocument(request, timeout=timeout, metadata=self._metadata))

    async def withdraw_document(
        self, document_id: str, reason: str, *, timeout: float = LOOKUP_TIMEOUT_SECONDS
    ) -> ingest_pb2.WithdrawDocumentResponse:
        """Takes a document out of retrieval; its citations still resolve."""
        request = ingest_pb2.WithdrawDocumentRequest(document_id=document_id, reason=reason)
        return await _call(self._stub.WithdrawDocument(request, timeout=timeout, metadata=self._metadata))

    async def verify_index(
        self, *, repair: bool = False, timeout: float = VERIFY_TIMEOUT_SECONDS
    ) -> ingest_pb2.VerifyIndexResponse:
        """Compares registry and index; with `repair` also mends what differs."""
        request = ingest_pb2.VerifyIndexRequest(repair=repair)
        return await _call(self._stub.VerifyIndex(request, timeout=timeout, metadata=self._metadata))

    async def reembed(self, *, model: str = "", timeout: float = LOOKUP_TIMEOUT_SECONDS) -> str:
        """Builds the index anew beside the old one; the job's id. `model` empty = the default embedder."""
        request = ingest_pb2.ReembedRequest(model=model)
        response: ingest_pb2.ReembedResponse = await _call(
            self._stub.Reembed(request, timeout=timeout, metadata=self._metadata)
        )
        return response.job_id

    async def list_watched_files(
        self, *, only_troubled: bool = False, timeout: float = LOOKUP_TIMEOUT_SECONDS
    ) -> Sequence[ingest_pb2.WatchedFile]:
        """What the source watch saw, by location."""
        request = ingest_pb2.ListWatchedFilesRequest(only_troubled=only_troubled)
        response: ingest_pb2.ListWatchedFilesResponse = await _call(
            self._stub.ListWatchedFiles(request, timeout=timeout, metadata=self._metadata)
        )
        return response.files

    async def list_audit_events(
        self, *, document_id: str = "", timeout: float = LOOKUP_TIMEOUT_SECONDS
    ) -> AsyncIterator[ingest_pb2.AuditEvent]:
        """Changes, newest first, page by page. `document_id` empty = all. `timeout` is for a page."""
        token = ""
        while True:
            request = ingest_pb2.ListAuditEventsRequest(
                document_id=document_id, page_size=200, page_token=token
            )
            response = await _call(
                self._stub.ListAuditEvents(request, timeout=timeout, metadata=self._metadata)
            )
            for event in response.events:
                yield event
            token = response.next_page_token
            if not token:
                return


def _pieces(data: bytes) -> Iterator[bytes]:
    for start in range(0, len(data), UPLOAD_CHUNK_BYTES):
        yield data[start : start + UPLOAD_CHUNK_BYTES]


async def _call(awaited: Awaitable[T]) -> T:
    return await rpc.call(awaited, "ingest")
