"""What is asked before a service says SERVING, and what backend_up shows."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from prometheus_client import REGISTRY

from radref.errors import Unavailable
from radref.service import health
from radref.service.admission import Admission
from radref.service.guard import Guard
from radref.service.health import Component, Readiness
from radref.service.health_service import HealthService
from radref.service.interceptors import guarded

SERVING = health_pb2.HealthCheckResponse.SERVING


@asynccontextmanager
async def running(*components: Component) -> AsyncIterator[Readiness]:
    readiness = Readiness(HealthService(), ["a.B"], components)
    readiness.start()
    task = asyncio.create_task(readiness.run())
    try:
        yield readiness
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def eventually(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0.01)


def up(name: str) -> float | None:
    return REGISTRY.get_sample_value("radref_backend_up", {"backend": name})


async def hangs() -> None:
    await asyncio.Event().wait()


async def answers() -> None:
    pass


async def fails() -> None:
    raise Unavailable("no")


async def test_a_backend_is_down_until_it_answered() -> None:
    Readiness(HealthService(), [], [Component("never-asked", answers)])
    assert up("never-asked") == 0


async def test_one_that_hangs_hides_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "CHECK_TIMEOUT_SECONDS", 3600)
    state = {"check": answers}

    async def changing() -> None:
        await state["check"]()

    async with running(Component("hangs", hangs, 3600), Component("changes", changing)) as readiness:
        await eventually(lambda: up("changes") == 1)
        state["check"] = fails
        await eventually(lambda: up("changes") == 0)
        assert readiness.waiting_for == ["hangs"]
        assert not readiness.serving
    assert up("hangs") == 0


async def test_only_the_first_answer_may_take_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model may load for minutes; once it has answered, the same silence is an outage."""
    monkeypatch.setattr(health, "CHECK_TIMEOUT_SECONDS", 0.01)
    monkeypatch.setattr(health, "SERVING_INTERVAL_SECONDS", 0.01)
    loaded = asyncio.Event()
    state = {"check": loaded.wait}

    async def model() -> None:
        await state["check"]()

    async with running(Component("model", model, timeout=3600)) as readiness:
        assert not readiness.serving
        loaded.set()
        await eventually(lambda: readiness.serving and up("model") == 1)
        state["check"] = hangs
        await eventually(lambda: up("model") == 0)
        # It stays in service: what it answers then names the reason.
        assert readiness.serving


async def test_nothing_to_wait_for() -> None:
    async with running() as readiness:
        await eventually(lambda: readiness.serving)


async def test_a_watcher_that_leaves_takes_nothing_from_the_others() -> None:
    """The health service of grpcio-health-checking forgets them all."""
    server = grpc.aio.server(interceptors=guarded(Guard(admission=Admission(1, 0))))
    service = HealthService()
    service.set("", SERVING)
    health_pb2_grpc.add_HealthServicer_to_server(service, server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            stub = health_pb2_grpc.HealthStub(channel)
            leaving, staying = (stub.Watch(health_pb2.HealthCheckRequest(), timeout=60) for _ in range(2))
            unknown = stub.Watch(health_pb2.HealthCheckRequest(service="x"), timeout=60)
            assert [(await each.read()).status for each in (leaving, staying)] == [SERVING, SERVING]
            assert (await unknown.read()).status == health_pb2.HealthCheckResponse.SERVICE_UNKNOWN
            leaving.cancel()
            service.set("x", SERVING)
            assert (await unknown.read()).status == SERVING
            service.set("", health_pb2.HealthCheckResponse.NOT_SERVING)
            assert (await staying.read()).status == health_pb2.HealthCheckResponse.NOT_SERVING
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await stub.Check(health_pb2.HealthCheckRequest(service="y"), timeout=60)
            assert caught.value.code() is grpc.StatusCode.NOT_FOUND
    finally:
        await server.stop(0)
