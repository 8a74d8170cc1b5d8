"""A replica that fails is left out, with the figures of k8s/components/mesh/destination-rules.yaml."""

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path

import grpc
import pytest
import yaml

from radref import errors
from tests.envoy.answering import DESCRIBE, Seen, answering, call, plain_channel, until_true
from tests.envoy.envoy_config import Cluster, Door, Outliers
from tests.envoy.envoy_process import running_envoy
from tests.envoy.replicas import REPLICA, Stub, describe, shares, stub_of
from tests.k8s.manifests import ROOT
from tests.service.service_process import service_process

RULES = ROOT / "k8s/components/mesh/destination-rules.yaml"


def committed(service: str, *, ejection_seconds: float | None = None) -> dict:
    """Arguments of a Cluster as the DestinationRule of the service says; looked at more often."""
    (rule,) = (
        one["spec"]["trafficPolicy"]["outlierDetection"]
        for one in yaml.safe_load_all(RULES.read_text("utf-8"))
        if one["metadata"]["name"] == service
    )
    assert rule["consecutive5xxErrors"] == 0
    outliers = Outliers(
        consecutive_gateway_errors=rule["consecutiveGatewayErrors"],
        interval_seconds=0.2,
        base_ejection_seconds=ejection_seconds or float(rule["baseEjectionTime"].removesuffix("s")),
        max_ejection_percent=rule["maxEjectionPercent"],
    )
    return {"outliers": outliers, "panic_percent": rule["minHealthPercent"]}


async def failures_until(stub: Stub, done: Callable[[], bool]) -> int:
    """Calls one by one until `done`; how many of them failed."""
    failed = 0
    async with asyncio.timeout(60):
        while not done():
            try:
                await describe(stub)
            except grpc.aio.AioRpcError as exc:
                assert exc.code() is grpc.StatusCode.UNAVAILABLE  # noqa: PT017
                failed += 1
    return failed


async def until_only_whatever_fails(stub: Stub, name: str) -> None:
    """As `until_only`, where the other one's calls fail."""
    in_a_row = 0
    async with asyncio.timeout(60):
        while in_a_row < 40:
            try:
                in_a_row = in_a_row + 1 if await describe(stub) == name else 0
            except grpc.aio.AioRpcError:
                in_a_row = 0


@pytest.mark.e2e
async def test_a_replica_that_fails_is_left_out(tmp_path: Path) -> None:
    cluster = committed("inference")
    limit = cluster["outliers"].consecutive_gateway_errors
    with (
        service_process(REPLICA, "inference", NAME="a", ANSWERS="false") as failing,
        service_process(REPLICA, "inference", NAME="b") as good,
    ):
        door = Door("in", Cluster((failing.address, good.address), **cluster))
        with running_envoy(tmp_path, door) as envoy:
            async with stub_of(envoy.address("in")) as stub:
                ejected = "cluster.in.outlier_detection.ejections_active"
                failed = await failures_until(stub, lambda: envoy.stat(ejected) == 1)
                await until_only_whatever_fails(stub, "b")
                assert set(await shares(stub, 100)) == {"b"}
    assert limit <= failed <= limit + 1


@pytest.mark.e2e
async def test_a_replica_that_died_is_left_out_and_comes_back(tmp_path: Path) -> None:
    cluster = committed("inference", ejection_seconds=0.5)
    async with answering() as good, AsyncExitStack() as first_life:
        dying = await first_life.enter_async_context(answering())
        port = int(dying.address.rpartition(":")[2])
        door = Door("in", Cluster((dying.address, good.address), **cluster))
        with running_envoy(tmp_path, door) as envoy:
            async with plain_channel(envoy.address("in")) as channel, asyncio.timeout(120):
                await first_life.aclose()
                while envoy.stat("cluster.in.outlier_detection.ejections_enforced_total") == 0:
                    await answered(channel)
                async with answering(port=port) as again:
                    while not again.seen:
                        await answered(channel)


async def answered(channel: grpc.aio.Channel) -> bool:
    try:
        await call(channel, DESCRIBE)
    except grpc.aio.AioRpcError:
        return False
    return True


@pytest.mark.parametrize("refusal", [errors.Overloaded("busy"), errors.Internal("x"), errors.NotFound("x")])
async def test_a_replica_that_sheds_or_refuses_stays(tmp_path: Path, refusal: errors.RadrefError) -> None:
    """To leave out who is busy would put its load on the other, and then on nobody."""

    async def refuses(seen: Seen) -> None:
        raise refusal

    async with answering(refuses) as one, answering(refuses) as other:
        door = Door("in", Cluster((one.address, other.address), **committed("inference")))
        with running_envoy(tmp_path, door) as envoy:
            async with plain_channel(envoy.address("in")) as channel:
                for _ in range(60):
                    with pytest.raises(grpc.aio.AioRpcError):
                        await call(channel, DESCRIBE)
                assert envoy.stat("cluster.in.outlier_detection.ejections_enforced_total") == 0
    assert len(one.seen) + len(other.seen) == 60
    assert one.seen
    assert other.seen


async def test_a_trouble_that_all_have_leaves_at_most_half_out(tmp_path: Path) -> None:
    """A backend of all replicas is down: callers get the service's own reason, not the proxy's."""

    async def down(seen: Seen) -> None:
        raise errors.Unavailable("the model server is down", reason="BACKEND_DOWN")

    async with answering(down) as one, answering(down) as other:
        door = Door("in", Cluster((one.address, other.address), **committed("inference")))
        with running_envoy(tmp_path, door) as envoy:
            async with plain_channel(envoy.address("in")) as channel:
                for _ in range(60):
                    with pytest.raises(grpc.aio.AioRpcError) as caught:
                        await call(channel, DESCRIBE)
                    assert caught.value.details() == "the model server is down"
                await until_true(lambda: envoy.stat("cluster.in.outlier_detection.ejections_active") == 1)
