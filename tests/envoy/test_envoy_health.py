"""grpc.health.v1 as a proxy asks it: calls go to replicas that say SERVING."""

from pathlib import Path

import grpc
import pytest

from tests.envoy.answering import until_true
from tests.envoy.envoy_config import Cluster, Door
from tests.envoy.envoy_process import running_envoy
from tests.envoy.replicas import REPLICA, describe, shares, stub_of, until_only
from tests.service.service_process import service_process

EVERY = 0.2


@pytest.mark.e2e
async def test_a_replica_gets_calls_from_serving_until_not_serving(tmp_path: Path) -> None:
    """NOT_SERVING at the start, SERVING, NOT_SERVING by SIGTERM; it would answer all the time."""
    ready = tmp_path / "ready"
    with (
        service_process(
            REPLICA, "inference", NAME="a", READY_FILE=str(ready), DRAIN_WAIT_SECONDS="300"
        ) as first,
        service_process(REPLICA, "inference", NAME="b") as second,
    ):
        door = Door("in", Cluster((first.address, second.address), health_seconds=EVERY))
        with running_envoy(tmp_path, door) as envoy:
            async with stub_of(first.address) as direct, stub_of(envoy.address("in")) as stub:
                await until_true(lambda: envoy.healthy("in") == 1)
                assert await describe(direct) == "a"
                await until_only(stub, "b")
                assert set(await shares(stub, 50)) == {"b"}
                ready.touch()
                await until_true(lambda: envoy.healthy("in") == 2)
                assert set(await shares(stub, 100)) == {"a", "b"}
                first.terminate()
                await until_true(lambda: envoy.healthy("in") == 1)
                assert await describe(direct) == "a"
                await until_only(stub, "b")
                assert set(await shares(stub, 50)) == {"b"}


@pytest.mark.e2e
async def test_with_no_replica_ready_callers_are_told_at_once(tmp_path: Path) -> None:
    with service_process(REPLICA, "inference", NAME="a", READY="false") as only:
        # Or else the proxy would call all of them, in a panic.
        door = Door("in", Cluster((only.address,), health_seconds=EVERY, panic_percent=0))
        with running_envoy(tmp_path, door) as envoy:
            async with stub_of(envoy.address("in")) as stub:
                await until_true(lambda: envoy.stat("cluster.in.health_check.failure") > 0)
                with pytest.raises(grpc.aio.AioRpcError) as caught:
                    await describe(stub)
    assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
    assert caught.value.details() == "no healthy upstream"
