"""The real retrieval service, killed at every step of a job: the job waits for it and ends well, once."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import pytest

from ingest_svc.lifecycle import DocumentState, JobStage
from ingest_svc.registry.database import Database
from radref.api.retrieval.v1 import index_pb2, index_pb2_grpc
from radref.service.channels import open_channel
from tests.ingest.faults.faults_kit import PATIENCE_SECONDS, ROOT, heavy, kill
from tests.ingest.service.ingest_fakes import FakeInference, Hook, long_document, nothing, serving
from tests.ingest.service.ingest_stack import running_stack

pytestmark = heavy

POINTS = [
    "Tokenize",
    "Describe",
    "Embed",
    "before StageDocument",
    "StageDocument",
    "after StageDocument",
    "before ActivateVersion",
    "after ActivateVersion",
]


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@dataclass
class Retrieval:
    """The service as a process that comes back on the same port with the same data."""

    data_dir: Path
    port: int
    inference: str
    process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        environment = {
            **os.environ,
            "RADREF_RETRIEVAL_DATA_DIR": str(self.data_dir),
            "RADREF_RETRIEVAL_INFERENCE_TARGET": self.inference,
            "RADREF_RETRIEVAL_REQUIRE_DEADLINE": "false",
            # What was staged twice goes with the next round of maintenance.
            "RADREF_RETRIEVAL_MAINTENANCE_INTERVAL_SECONDS": "0.5",
            "RADREF_RETRIEVAL_SUPERSEDED_RETENTION_SECONDS": "0",
            "RADREF_RETRIEVAL_DELETION_GRACE_SECONDS": "0",
        }
        command = ["-m", "retrieval_svc.server", "--listen", f"127.0.0.1:{self.port}"]
        self.process = await asyncio.create_subprocess_exec(
            sys.executable, *command, "--admin-listen", "127.0.0.1:0", cwd=ROOT, env=environment
        )
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not await self._answers():
                assert self.process.returncode is None, "the retrieval service did not start"
                await asyncio.sleep(0.1)

    async def restart(self) -> None:
        assert self.process is not None
        await kill(self.process)
        await self.start()

    async def stats(self) -> index_pb2.GetStatsResponse:
        async with open_channel(f"127.0.0.1:{self.port}") as channel:
            stub: Any = index_pb2_grpc.IndexServiceStub(channel)
            response: index_pb2.GetStatsResponse = await stub.GetStats(index_pb2.GetStatsRequest(), timeout=5)
            return response

    async def counts(self) -> tuple[int, int, int]:
        """Documents searched, and parents and children stored."""
        stats = await self.stats()
        children = sum(collection.children for collection in stats.collections)
        return stats.active_documents, stats.parents, children

    async def _answers(self) -> bool:
        try:
            await self.stats()
        except grpc.aio.AioRpcError:
            return False
        return True


class Door(index_pb2_grpc.IndexServiceServicer):
    """Hands every call on to the real service, and lets something happen before, amid and after it."""

    def __init__(self, stub: Any) -> None:
        self.hook: Hook = nothing
        self._stub = stub

    async def StageDocument(self, request_iterator: Any, context: Any) -> Any:  # noqa: N802
        await self.hook("before StageDocument")

        async def passed_on() -> AsyncIterator[Any]:
            async for request in request_iterator:
                yield request
                await self.hook("StageDocument")

        answer = await self._answer(self._stub.StageDocument(passed_on(), timeout=30), context)
        await self.hook("after StageDocument")
        return answer

    async def ActivateVersion(self, request: Any, context: Any) -> Any:  # noqa: N802
        await self.hook("before ActivateVersion")
        answer = await self._answer(self._stub.ActivateVersion(request, timeout=30), context)
        await self.hook("after ActivateVersion")
        return answer

    async def _answer(self, call: Any, context: Any) -> Any:
        try:
            return await call
        except grpc.aio.AioRpcError as exc:
            await context.abort(grpc.StatusCode.UNAVAILABLE, exc.details() or "")


@pytest.mark.parametrize("point", POINTS)
async def test_the_job_waits_for_a_retrieval_service_that_was_killed(
    database: Database, tmp_path: Path, point: str
):
    inference = FakeInference()
    async with serving(inference, index_pb2_grpc.IndexServiceServicer()) as model:  # type: ignore[arg-type]
        retrieval = Retrieval(tmp_path / "retrieval", free_port(), model)
        await retrieval.start()
        try:
            async with open_channel(f"127.0.0.1:{retrieval.port}") as channel:
                door = Door(index_pb2_grpc.IndexServiceStub(channel))
                calls = 0

                async def kill_it(method: str) -> None:
                    nonlocal calls
                    calls += method == point
                    if method == point and calls == 1:
                        await retrieval.restart()

                stack_inference = FakeInference(hook=kill_it)
                door.hook = kill_it
                async with running_stack(
                    database,
                    tmp_path,
                    inference=stack_inference,
                    index=door,  # type: ignore[arg-type]
                    max_attempts=1000,
                    embed_timeout=PATIENCE_SECONDS,
                ) as stack:
                    submitted = await stack.submit(long_document(sections=3))
                    job = await stack.finished(submitted.job_id)
                assert (job.stage, job.state) == (JobStage.DONE, DocumentState.INDEXED), job.failure
                assert calls >= 1
                async with asyncio.timeout(PATIENCE_SECONDS):
                    while await retrieval.counts() != (1, job.parents, job.children):
                        await asyncio.sleep(0.2)
        finally:
            if retrieval.process is not None:
                await kill(retrieval.process)
