"""What is asked before a service says SERVING, and what backend_up shows."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest
from grpc_health.v1 import health_pb2
from grpc_health.v1._async import HealthServicer
from prometheus_client import REGISTRY

from radref.errors import Unavailable
from radref.service import health
from radref.service.health import Component, Readiness

SERVING = health_pb2.HealthCheckResponse.SERVING


@asynccontextmanager
async def running(*components: Component) -> AsyncIterator[Readiness]:
    readiness = Readiness(HealthServicer(), ["a.B"], components)
    await readiness.start()
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
    Readiness(HealthServicer(), [], [Component("never-asked", answers)])
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
