"""Replicas are replaced one by one under load through a proxy: no call fails, and none is made again."""

import asyncio
import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import ExitStack, asynccontextmanager
from functools import partial
from pathlib import Path

import pytest

from tests.envoy.answering import until_true
from tests.envoy.envoy_config import Cluster, Door, Json, endpoints
from tests.envoy.envoy_process import Envoy, running_envoy
from tests.envoy.replicas import REPLICA, Stub, describe, generate, stub_of
from tests.service.service_process import ServiceProcess, service_process

CALLERS = 8
# Calls are in flight when a replica stops. The proxy notices within the interval of its health checks and the
# second for which it gathers changes (update_merge_window).
SETTINGS = {"HOLD": "0.02", "DRAIN_WAIT_SECONDS": "4"}
ENOUGH = 100


class Load:
    """Half of the callers make calls that nobody may make again. One that fails fails the test."""

    def __init__(self, stub: Stub) -> None:
        self._stub = stub
        self._done = asyncio.Event()
        self.answers: list[str] = []

    async def run(self) -> None:
        async with asyncio.TaskGroup() as callers:
            for number in range(CALLERS):
                callers.create_task(self._keep_calling(generate if number % 2 else describe))

    async def _keep_calling(self, call: Callable[[Stub], Awaitable[str]]) -> None:
        while not self._done.is_set():
            self.answers.append(await call(self._stub))

    async def more(self, *names: str) -> None:
        """Waits for many more answers, some of each of these replicas."""
        before = len(self.answers)

        def enough() -> bool:
            new = self.answers[before:]
            return len(new) >= ENOUGH and set(names) <= set(new)

        await until_true(enough)

    def stop(self) -> None:
        self._done.set()


@asynccontextmanager
async def load_through(envoy: Envoy) -> AsyncIterator[Load]:
    async with stub_of(envoy.address("in")) as stub, asyncio.TaskGroup() as running:
        load = Load(stub)
        running.create_task(load.run())
        yield load
        load.stop()


async def stopped(replica: ServiceProcess) -> None:
    """As Kubernetes stops a pod."""
    replica.terminate()
    assert await asyncio.to_thread(replica.process.wait, 120) == 0


def no_failure(envoy: Envoy) -> None:
    """What the proxy itself counted."""
    for what in (
        "upstream_rq_retry",
        "upstream_rq_5xx",
        "upstream_rq_pending_failure_eject",
        "upstream_cx_none_healthy",
    ):
        assert envoy.stat(f"cluster.in.{what}") == 0, what


async def started(stack: ExitStack, name: str, port: int | None = None) -> ServiceProcess:
    """A replica that is ready; the load goes on meanwhile. It is ended with the stack."""
    start = service_process(REPLICA, "inference", port=port, NAME=name, **SETTINGS)
    replica = await asyncio.to_thread(stack.enter_context, start)
    await until_true(lambda: replica.get("/readyz")[0] == 200)
    return replica


@pytest.mark.e2e
async def test_two_replicas_restart_and_health_checks_tell(tmp_path: Path) -> None:
    """Each comes back at its old address, as where a proxy in front of fixed machines asks for health."""
    with ExitStack() as stack:
        first, second = await started(stack, "a1"), await started(stack, "b1")
        door = Door("in", Cluster((first.address, second.address), health_seconds=0.2))
        with running_envoy(tmp_path, door) as envoy:
            await until_true(lambda: envoy.healthy("in") == 2)
            async with load_through(envoy) as load:
                await load.more("a1", "b1")
                for old, new, other in ((first, "a2", "b1"), (second, "b2", "a2")):
                    await stopped(old)
                    await load.more(other)
                    await started(stack, new, port=old.port)
                    await load.more(new, other)
            no_failure(envoy)
    assert {"a1", "b1", "a2", "b2"} == set(load.answers)


@pytest.mark.e2e
async def test_two_replicas_are_replaced_and_the_control_plane_tells(tmp_path: Path) -> None:
    """As in Kubernetes with Istio: the new pod is added when it is ready, the old one is taken off the list
    only after it was told to stop, and no proxy asks for health."""
    listed = tmp_path / "endpoints.json"
    with ExitStack() as stack:
        serving = [await started(stack, "a1"), await started(stack, "b1")]
        tell(listed, *serving)
        with running_envoy(tmp_path, Door("in", Cluster(listed))) as envoy:
            async with load_through(envoy) as load:
                await load.more("a1", "b1")
                for name in ("a2", "b2"):
                    old, kept, new = *serving, await started(stack, name)
                    tell(listed, old, kept, new)
                    await load.more(name)
                    ending = asyncio.create_task(stopped(old))
                    await until_true(partial(old.logged, "draining"))
                    serving = [kept, new]
                    tell(listed, *serving)
                    await ending
                    await load.more(name)
            no_failure(envoy)
    assert {"a1", "b1", "a2", "b2"} == set(load.answers)


def tell(listed: Path, *replicas: ServiceProcess) -> None:
    """Replaced whole: Envoy looks when a file is moved there."""
    content: Json = endpoints("in", [replica.address for replica in replicas])
    fresh = listed.with_suffix(".new")
    fresh.write_text(json.dumps(content), "utf-8")
    os.replace(fresh, listed)


@pytest.mark.e2e
async def test_connections_that_end_at_their_age_lose_no_call(tmp_path: Path) -> None:
    aged = {"HOLD": "0.02", "MAX_CONNECTION_AGE_SECONDS": "0.3"}
    with (
        service_process(REPLICA, "inference", NAME="a", **aged) as one,
        service_process(REPLICA, "inference", NAME="b", **aged) as two,
        running_envoy(tmp_path, Door("in", Cluster((one.address, two.address)))) as envoy,
    ):
        async with load_through(envoy) as load:
            await until_true(lambda: envoy.stat("cluster.in.upstream_cx_close_notify") >= 10)
            await load.more("a", "b")
        no_failure(envoy)
