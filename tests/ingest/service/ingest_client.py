"""IngestService over real gRPC with the kit's interceptors, and a client of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import grpc

from ingest_svc.reconcile import Divergence, Remedy, VerifyResult
from ingest_svc.replacing import Replacing
from ingest_svc.reviewing import Reviewing
from ingest_svc.rollback import Rollback
from ingest_svc.service import IngestServicer, Parts
from ingest_svc.variants.submitting import SubmittingVariants
from radref.api.common.v1 import documents_pb2
from radref.api.ingest.v1 import ingest_pb2 as pb
from radref.api.ingest.v1 import ingest_pb2_grpc
from radref.service.actor import ACTOR_HEADER
from radref.service.admission import Admission
from radref.service.interceptors import interceptors
from radref.service.status import error_from_rpc
from tests.ingest.service.ingest_stack import Stack

WATCH = "/radref.api.ingest.v1.IngestService/WatchJob"
TEXT = "# Щитовидная железа\n\nЗащитный воротник носит персонал.\n\n## Проверка\n\nРаз в год."
NOTE = TEXT.encode()


class Client:
    """A stub with a deadline on every call and RadrefError instead of AioRpcError."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self._stub = ingest_pb2_grpc.IngestServiceStub(channel)

    async def call(
        self, method: str, request: Any, timeout: float | None = 20.0, actor: str | None = None
    ) -> Any:
        metadata = ((ACTOR_HEADER, actor),) if actor is not None else ()
        try:
            return await getattr(self._stub, method)(request, timeout=timeout, metadata=metadata)
        except grpc.aio.AioRpcError as exc:
            raise error_from_rpc(exc, backend="ingest") from None

    async def watch(self, job_id: str) -> list[pb.Job]:
        try:
            stream = self._stub.WatchJob(pb.WatchJobRequest(job_id=job_id))
            return [response.job async for response in stream]
        except grpc.aio.AioRpcError as exc:
            raise error_from_rpc(exc, backend="ingest") from None

    async def indexed(self, data: bytes = NOTE, **header: Any) -> pb.SubmitDocumentResponse:
        response = await self.call("SubmitDocument", submission(data, **header))
        last = (await self.watch(response.job_id))[-1]
        assert last.stage == pb.JOB_STAGE_DONE, last
        return response


def submission(data: bytes, kind: Any = pb.SubmitDocumentRequest, **header: Any) -> Iterator[Any]:
    values = {
        "file_name": "note.md",
        "size_bytes": len(data),
        "metadata": documents_pb2.DocumentMetadata(topic="safety", language="ru"),
        **header,
    }
    yield kind(header=pb.UploadHeader(**values))
    yield kind(chunk=data)


class Upkeep:
    """Stands for verification and re-embedding, which have tests of their own."""

    def __init__(self) -> None:
        self.asked: list[tuple[Any, str]] = []

    async def verify(self, repair: bool, actor: str, /) -> VerifyResult:
        self.asked.append((repair, actor))
        return VerifyResult([Divergence("law", 2, "is not searched", Remedy.RESTAGE, repair)], 3, 40, 39)

    async def reembed(self, model: str, actor: str) -> str:
        self.asked.append((model, actor))
        return "job"


@asynccontextmanager
async def serving_ingest(stack: Stack, upkeep: Upkeep) -> AsyncIterator[Client]:
    server = grpc.aio.server(
        interceptors=interceptors(
            Admission(8, 8),
            require_deadline=True,
            long_lived=frozenset({WATCH}),
            draining=asyncio.Event(),
        )
    )
    database, wake = stack.database, stack.engine.wake
    replacing = Replacing(database=database, blobs=stack.blobs, limits=stack.limits, wake=wake)
    parts = Parts(
        database=database,
        blobs=stack.blobs,
        parser=stack.parser,
        clean=lambda parsed: parsed,
        events=stack.events,
        submission=stack.submission,
        replacing=replacing,
        reviewing=Reviewing(database=database, approvals_required=1, wake=wake),
        rollback=Rollback(database=database, wake=wake),
        withdrawal=stack.withdrawal,
        variants=SubmittingVariants(database=database, submission=stack.submission, replacing=replacing),
        verification=upkeep,
        reembed=upkeep.reembed,
        limits=stack.limits,
        wake=wake,
    )
    ingest_pb2_grpc.add_IngestServiceServicer_to_server(IngestServicer(parts), server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        yield Client(channel)
    await server.stop(None)
