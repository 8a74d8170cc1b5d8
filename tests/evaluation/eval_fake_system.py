"""A scripted radref on real gRPC: the public services, answers laid down by the test."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import grpc

from radref.api.common.v1 import documents_pb2
from radref.api.gateway.v1 import answer_pb2, gateway_pb2, gateway_pb2_grpc
from radref.api.ingest.v1 import ingest_pb2, ingest_pb2_grpc
from radref.errors import Overloaded, RadrefError, Unavailable
from radref.service.status import code_of, to_status

VERSIONS = answer_pb2.Versions(prompt="p1", knowledge_base=7, embedder="e5@1", radref="0.1.0")


def passage(
    citation_id: str, text: str, *, document: str = "doc", section: tuple[str, ...] = ()
) -> documents_pb2.Passage:
    return documents_pb2.Passage(
        citation_id=citation_id, document_id=document, version=1, text=text, section_path=section
    )


def ranked(*passages: documents_pb2.Passage) -> list[answer_pb2.RankedParent]:
    return [answer_pb2.RankedParent(passage=item, rank=rank) for rank, item in enumerate(passages, start=1)]


def statement(text: str, *citations: tuple[str, str]) -> answer_pb2.Statement:
    """A statement with citations (id, quote)."""
    return answer_pb2.Statement(
        text=text,
        citations=[answer_pb2.Citation(citation_id=name, quote=quote) for name, quote in citations],
    )


async def refuse(context: grpc.aio.ServicerContext, error: RadrefError) -> None:
    status = to_status(error, "r1")
    context.set_trailing_metadata((("grpc-status-details-bin", status.SerializeToString()),))
    await context.abort(code_of(error), error.message)


@dataclass
class FakeGateway(gateway_pb2_grpc.GatewayServiceServicer):
    """`search` and `generate` make the response to a request, or raise a RadrefError."""

    search: Callable[[gateway_pb2.SearchRequest], gateway_pb2.SearchResponse]
    generate: Callable[[gateway_pb2.GenerateRequest], gateway_pb2.GenerateResponse] | None = None
    sources: dict[str, documents_pb2.Passage] = field(default_factory=dict)
    searches: list[gateway_pb2.SearchRequest] = field(default_factory=list)
    # Set when a question arrives; with `hold`, it is never answered.
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    hold: bool = False

    async def Search(self, request, context):  # noqa: N802
        self.searches.append(request)
        try:
            response = self.search(request)
        except RadrefError as error:
            await refuse(context, error)
        if not response.HasField("versions"):
            response.versions.CopyFrom(VERSIONS)
        return response

    async def Generate(self, request, context):  # noqa: N802
        assert self.generate is not None
        self.asked.set()
        if self.hold:
            await asyncio.Event().wait()
        try:
            response = self.generate(request)
        except RadrefError as error:
            await refuse(context, error)
        response.versions.CopyFrom(VERSIONS)
        return response

    async def GetSource(self, request, context):  # noqa: N802
        return gateway_pb2.GetSourceResponse(passage=self.sources[request.citation_id])


@dataclass
class FakeIngest(ingest_pb2_grpc.IngestServiceServicer):
    """Keeps uploads. `failing`: file name -> failure. `overloaded`: so many submissions are shed first."""

    failing: dict[str, ingest_pb2.JobFailure] = field(default_factory=dict)
    overloaded: int = 0
    broken_streams: int = 0
    existing: dict[bytes, ingest_pb2.DocumentSummary] = field(default_factory=dict)
    stored: dict[str, bytes] = field(default_factory=dict)
    headers: dict[str, ingest_pb2.UploadHeader] = field(default_factory=dict)
    in_flight: Counter[str] = field(default_factory=Counter)
    most_in_flight: int = 0

    async def SubmitDocument(self, request_iterator, context):  # noqa: N802
        header, data = None, b""
        async for request in request_iterator:
            if request.HasField("header"):
                header = request.header
            else:
                data += request.chunk
        assert header is not None
        assert header.size_bytes == len(data)
        if self.overloaded:
            self.overloaded -= 1
            await refuse(context, Overloaded("later", retry_after=0.01))
        if data in self.existing:
            return ingest_pb2.SubmitDocumentResponse(
                document_id=self.existing[data].document_id, version=1, duplicate=True
            )
        self.in_flight["jobs"] += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight["jobs"])
        self.stored[header.document_id] = data
        self.headers[header.document_id] = header
        return ingest_pb2.SubmitDocumentResponse(
            document_id=header.document_id, version=1, job_id=f"job-{header.document_id}"
        )

    async def WatchJob(self, request, context):  # noqa: N802
        document_id = request.job_id.removeprefix("job-")
        job = ingest_pb2.Job(id=request.job_id, document_id=document_id, stage=ingest_pb2.JOB_STAGE_EMBED)
        yield ingest_pb2.WatchJobResponse(job=job)
        if self.broken_streams:
            self.broken_streams -= 1
            await refuse(context, Unavailable("restarting", retry_after=0.01))
        self.in_flight["jobs"] -= 1
        failure = self.failing.get(self.headers[document_id].file_name)
        if failure:
            job.stage = ingest_pb2.JOB_STAGE_FAILED
            job.failure.CopyFrom(failure)
        else:
            job.stage = ingest_pb2.JOB_STAGE_DONE
        yield ingest_pb2.WatchJobResponse(job=job)

    async def ListDocuments(self, request, context):  # noqa: N802
        return ingest_pb2.ListDocumentsResponse(documents=self.existing.values())


@asynccontextmanager
async def serving(gateway: FakeGateway | None = None, ingest: FakeIngest | None = None) -> AsyncIterator[str]:
    """Serves both on one free port; yields host:port."""
    server = grpc.aio.server()
    if gateway is not None:
        gateway_pb2_grpc.add_GatewayServiceServicer_to_server(gateway, server)
    if ingest is not None:
        ingest_pb2_grpc.add_IngestServiceServicer_to_server(ingest, server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        await server.stop(None)
