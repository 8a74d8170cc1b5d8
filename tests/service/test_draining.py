"""SIGTERM: not serving, then calls in flight are finished on every door, then the end; nobody holds it up."""

import asyncio
from pathlib import Path

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from radref.api.gateway.v1 import gateway_pb2
from tests.service.gateway_stack import QUESTION, gateway_stack
from tests.service.service_process import until

SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING


@pytest.mark.e2e
async def test_calls_in_flight_are_answered_by_grpc_and_rest(tmp_path: Path) -> None:
    async with gateway_stack(tmp_path) as stack:
        by_grpc = asyncio.ensure_future(
            stack.stub.Search(gateway_pb2.SearchRequest(query=QUESTION), timeout=60)
        )
        by_rest = asyncio.create_task(stack.search_by_rest())
        async with asyncio.timeout(60):
            while len(stack.retrieval.headers) < 2:
                await asyncio.sleep(0.02)
        stack.gateway.terminate()
        await asyncio.to_thread(until, lambda: stack.gateway.logged("draining"))
        status, text = stack.gateway.get("/readyz")
        assert (status, text) == (503, "waiting for shutdown\n")
        assert stack.gateway.get("/livez")[0] == 200
        stack.retrieval.release.set()
        assert (await by_grpc).query == QUESTION
        assert (await by_rest)[0] == 200
        assert await asyncio.to_thread(stack.gateway.process.wait, 60) == 0
    assert not by_grpc.cancelled()


@pytest.mark.e2e
async def test_a_watcher_of_health_sees_the_end_coming_and_does_not_hold_it_up(tmp_path: Path) -> None:
    """The grace is far longer than the test waits: a stream that never ends must not use it up."""
    async with gateway_stack(tmp_path, DRAIN_GRACE_SECONDS="3600") as stack:
        request = health_pb2.HealthCheckRequest()
        watch = health_pb2_grpc.HealthStub(stack.channel).Watch(request, timeout=600)
        statuses: list[int] = []

        async def read() -> None:
            async for response in watch:
                statuses.append(response.status)  # noqa: PERF401 - seen while it grows

        reading = asyncio.create_task(read())
        async with asyncio.timeout(60):
            while SERVING not in statuses:
                await asyncio.sleep(0.02)
        stack.gateway.terminate()
        with pytest.raises(grpc.aio.AioRpcError) as ended:
            await asyncio.wait_for(reading, 60)
        assert await asyncio.to_thread(stack.gateway.process.wait, 60) == 0
    assert statuses[-1] == NOT_SERVING
    assert ended.value.code() is grpc.StatusCode.UNAVAILABLE
