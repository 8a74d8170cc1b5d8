"""Async client for integrators: typed messages in and out, errors of `radref.errors`.

async with RadrefClient(gateway="127.0.0.1:7100", ingest="127.0.0.1:7103") as client:
    answer = await client.generate("What is the annual eye lens dose limit for staff?")
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Iterator, Sequence
from types import TracebackType
from typing import Self, TypeVar

import grpc

from radref.api.common.v1 import documents_pb2
from radref.api.gateway.v1 import gateway_pb2, gateway_pb2_grpc
from radref.api.ingest.v1 import ingest_pb2, ingest_pb2_grpc
from radref.errors import Unavailable
from radref.service.channels import open_channel
from radref.service.status import error_from_rpc

# Deadlines of DESIGN section 8 with room for a busy CPU-only site.
ANSWER_TIMEOUT_SECONDS = 60.0
LOOKUP_TIMEOUT_SECONDS = 15.0
UPLOAD_TIMEOUT_SECONDS = 300.0
UPLOAD_CHUNK_BYTES = 512 * 1024
# A restarted service is back within seconds; asking more often would only load it.
RECONNECT_SECONDS = 1.0
# Longer than the restart of any service; after it a lost job is a failure worth telling.
LOST_SECONDS = 120.0

T = TypeVar("T")


class RadrefClient:
    """A connection to one radref.

    Args:
        gateway: host:port of the gateway.
        ingest: host:port of the ingest service; needed for documents only.

    Every method raises a RadrefError: Unavailable when the service does not answer, DeadlineExceeded when
    it takes too long, InvalidInput and NotFound with the reason the service gave.
    """

    def __init__(self, *, gateway: str = "127.0.0.1:7100", ingest: str = "127.0.0.1:7103") -> None:
        self._gateway_channel = open_channel(gateway)
        self._ingest_channel = open_channel(ingest)
        self._gateway = gateway_pb2_grpc.GatewayServiceStub(self._gateway_channel)
        self._ingest = ingest_pb2_grpc.IngestServiceStub(self._ingest_channel)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        await self._gateway_channel.close()
        await self._ingest_channel.close()

    async def search(
        self,
        query: str,
        *,
        legs: Sequence[documents_pb2.SearchLeg.ValueType] = (),
        rerank: gateway_pb2.RerankMode.ValueType = gateway_pb2.RERANK_MODE_UNSPECIFIED,
        limits: documents_pb2.SearchLimits | None = None,
        filters: documents_pb2.SearchFilters | None = None,
        want_candidates: bool = False,
        timeout: float = LOOKUP_TIMEOUT_SECONDS,
    ) -> gateway_pb2.SearchResponse:
        """Ranked passages. `timeout` in seconds."""
        request = gateway_pb2.SearchRequest(
            query=query,
            legs=legs,
            rerank=rerank,
            limits=limits,
            filters=filters,
            want_candidates=want_candidates,
        )
        return await _call(self._gateway.Search(request, timeout=timeout), "gateway")

    async def prompt(
        self,
        query: str,
        *,
        filters: documents_pb2.SearchFilters | None = None,
        timeout: float = LOOKUP_TIMEOUT_SECONDS,
    ) -> gateway_pb2.PromptResponse:
        """The prompt that would be sent, without generating. `timeout` in seconds."""
        request = gateway_pb2.PromptRequest(query=query, filters=filters)
        return await _call(self._gateway.Prompt(request, timeout=timeout), "gateway")

    async def generate(
        self,
        query: str,
        *,
        filters: documents_pb2.SearchFilters | None = None,
        model: str = "",
        want_prompt: bool = False,
        timeout: float = ANSWER_TIMEOUT_SECONDS,
    ) -> gateway_pb2.GenerateResponse:
        """A checked answer or an abstention. `timeout` in seconds."""
        request = gateway_pb2.GenerateRequest(
            query=query, filters=filters, model=model, want_prompt=want_prompt
        )
        return await _call(self._gateway.Generate(request, timeout=timeout), "gateway")

    async def get_source(
        self, citation_id: str, *, timeout: float = LOOKUP_TIMEOUT_SECONDS
    ) -> gateway_pb2.GetSourceResponse:
        """The passage behind a citation. `timeout` in seconds."""
        request = gateway_pb2.GetSourceRequest(citation_id=citation_id)
        return await _call(self._gateway.GetSource(request, timeout=timeout), "gateway")

    async def submit_file(
        self,
        data: bytes,
        file_name: str,
        metadata: documents_pb2.DocumentMetadata,
        *,
        document_id: str = "",
        timeout: float = UPLOAD_TIMEOUT_SECONDS,
    ) -> ingest_pb2.SubmitDocumentResponse:
        """Uploads a document; follow `job_id` with `watch_job`. `timeout` in seconds."""
        header = ingest_pb2.UploadHeader(
            document_id=document_id, file_name=file_name, metadata=metadata, size_bytes=len(data)
        )

        def messages() -> Iterator[ingest_pb2.SubmitDocumentRequest]:
            yield ingest_pb2.SubmitDocumentRequest(header=header)
            for piece in _pieces(data):
                yield ingest_pb2.SubmitDocumentRequest(chunk=piece)

        return await _call(self._ingest.SubmitDocument(messages(), timeout=timeout), "ingest")

    async def parse_file(
        self, data: bytes, file_name: str, *, timeout: float = UPLOAD_TIMEOUT_SECONDS
    ) -> ingest_pb2.ParseDocumentResponse:
        """Parses a file without keeping it. `timeout` in seconds."""
        header = ingest_pb2.UploadHeader(file_name=file_name, size_bytes=len(data))

        def messages() -> Iterator[ingest_pb2.ParseDocumentRequest]:
            yield ingest_pb2.ParseDocumentRequest(header=header)
            for piece in _pieces(data):
                yield ingest_pb2.ParseDocumentRequest(chunk=piece)

        return await _call(self._ingest.ParseDocument(messages(), timeout=timeout), "ingest")

    async def watch_job(self, job_id: str, *, timeout: float = 3600.0) -> AsyncIterator[ingest_pb2.Job]:
        """States of a job until it ends; the current one first.

        `timeout` in seconds for the whole stream. A job outlives the process that works on it, so a lost
        connection is made anew; Unavailable after LOST_SECONDS without an answer.
        """
        request = ingest_pb2.WatchJobRequest(job_id=job_id)
        deadline = time.monotonic() + timeout
        answered = time.monotonic()
        while True:
            remaining = max(0.001, deadline - time.monotonic())
            try:
                async for response in _stream(self._ingest.WatchJob(request, timeout=remaining), "ingest"):
                    answered = time.monotonic()
                    yield response.job
            except Unavailable:
                if time.monotonic() - answered > LOST_SECONDS:
                    raise
                await asyncio.sleep(RECONNECT_SECONDS)
            else:
                return

    async def list_documents(
        self,
        *,
        states: Sequence[documents_pb2.DocumentState.ValueType] = (),
        topics: Sequence[str] = (),
        timeout: float = LOOKUP_TIMEOUT_SECONDS,
    ) -> AsyncIterator[ingest_pb2.DocumentSummary]:
        """Every document that matches, page by page. `timeout` in seconds a page."""
        token = ""
        while True:
            request = ingest_pb2.ListDocumentsRequest(
                states=states, topics=topics, page_size=200, page_token=token
            )
            response = await _call(self._ingest.ListDocuments(request, timeout=timeout), "ingest")
            for document in response.documents:
                yield document
            token = response.next_page_token
            if not token:
                return

    async def withdraw_document(
        self, document_id: str, reason: str, *, timeout: float = LOOKUP_TIMEOUT_SECONDS
    ) -> ingest_pb2.WithdrawDocumentResponse:
        """Takes a document out of retrieval; its citations still resolve. `timeout` in seconds."""
        request = ingest_pb2.WithdrawDocumentRequest(document_id=document_id, reason=reason)
        return await _call(self._ingest.WithdrawDocument(request, timeout=timeout), "ingest")

    async def retry_job(self, job_id: str, *, timeout: float = LOOKUP_TIMEOUT_SECONDS) -> ingest_pb2.Job:
        """Runs a failed job again. `timeout` in seconds."""
        request = ingest_pb2.RetryJobRequest(job_id=job_id)
        response: ingest_pb2.RetryJobResponse = await _call(
            self._ingest.RetryJob(request, timeout=timeout), "ingest"
        )
        return response.job


def _pieces(data: bytes) -> Iterator[bytes]:
    for start in range(0, len(data), UPLOAD_CHUNK_BYTES):
        yield data[start : start + UPLOAD_CHUNK_BYTES]


async def _call(call: Awaitable[T], service: str) -> T:
    try:
        return await call
    except grpc.aio.AioRpcError as exc:
        raise error_from_rpc(exc, backend=service) from None


async def _stream(call: AsyncIterator[T], service: str) -> AsyncIterator[T]:
    try:
        async for message in call:
            yield message
    except grpc.aio.AioRpcError as exc:
        raise error_from_rpc(exc, backend=service) from None
