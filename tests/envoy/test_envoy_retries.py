"""Retries of a proxy, for callers without their own: what may be made again, and how often at once."""

import asyncio
import json
from collections import Counter
from pathlib import Path

import grpc
import pytest

from radref import errors
from radref.retry_policy import service_config
from radref.service.channels import open_channel
from tests.envoy.answering import (
    ALL_METHODS,
    DESCRIBE,
    GENERATE,
    Answering,
    Seen,
    answering,
    call,
    plain_channel,
)
from tests.envoy.envoy_config import Cluster, Door
from tests.envoy.envoy_process import running_envoy

# The list radref's own channels go by.
IDEMPOTENT = tuple(
    f"/{name['service']}/{name['method']}"
    for name in json.loads(service_config(2, health=False))["methodConfig"][0]["name"]
)
BUDGET_PERCENT = 20.0


async def fails(seen: Seen) -> None:
    raise errors.Unavailable(f"call {seen.number}")


async def attempts(channel: grpc.aio.Channel, service: Answering, method: str) -> int:
    """How often a call that fails arrives."""
    before = len(service.seen)
    with pytest.raises(grpc.aio.AioRpcError):
        await call(channel, method)
    return len(service.seen) - before


async def test_every_method_of_every_service_is_made_again_only_if_it_changes_nothing(tmp_path: Path) -> None:
    async with answering(fails) as service:
        with running_envoy(tmp_path, Door("in", Cluster((service.address,)), retried=IDEMPOTENT)) as envoy:
            async with plain_channel(envoy.address("in")) as channel:
                made = {method: await attempts(channel, service, method) for method in ALL_METHODS}
    assert made == {method: 2 if method in IDEMPOTENT else 1 for method in ALL_METHODS}
    assert made[GENERATE] == 1
    assert len(IDEMPOTENT) >= 10


@pytest.mark.parametrize("refusal", [errors.Overloaded("busy"), errors.Internal("x"), errors.NotFound("x")])
async def test_nothing_but_unavailable_is_made_again(tmp_path: Path, refusal: errors.RadrefError) -> None:
    """Least of all what was refused for load."""

    async def refuses(seen: Seen) -> None:
        raise refusal

    async with answering(refuses) as service:
        with running_envoy(tmp_path, Door("in", Cluster((service.address,)), retried=IDEMPOTENT)) as envoy:
            async with plain_channel(envoy.address("in")) as channel:
                assert await attempts(channel, service, DESCRIBE) == 1


async def test_an_outage_is_made_worse_by_the_budget_only(tmp_path: Path) -> None:
    """60 calls at once fail; a fifth of them is made again, the others are told."""
    calls, allowed = 60, int(60 * BUDGET_PERCENT / 100)
    first, again = asyncio.Event(), asyncio.Event()

    async def outage(seen: Seen) -> None:
        if seen.number <= calls:
            await first.wait()
            raise errors.Unavailable("a backend is down")
        await again.wait()

    async with answering(outage) as service:
        cluster = Cluster((service.address,), retry_budget_percent=BUDGET_PERCENT)
        with running_envoy(tmp_path, Door("in", cluster, retried=IDEMPOTENT)) as envoy:
            async with plain_channel(envoy.address("in")) as channel, asyncio.timeout(120):
                callers = [asyncio.create_task(call(channel, DESCRIBE, 120)) for _ in range(calls)]
                while len(service.seen) < calls:
                    await asyncio.sleep(0.01)
                first.set()
                # Each is either told, or made again and waiting.
                while sum(caller.done() for caller in callers) + len(service.seen) - calls < calls:
                    await asyncio.sleep(0.01)
                retried = len(service.seen) - calls
                assert envoy.stat("cluster.in.upstream_rq_retry") == retried
                assert envoy.stat("cluster.in.upstream_rq_retry_overflow") == calls - retried
                again.set()
                outcomes = Counter(
                    "ok" if isinstance(outcome, grpc.aio.Metadata) else outcome.code().name
                    for outcome in await asyncio.gather(*callers, return_exceptions=True)
                )
    # Never below three (min_retries), however few are in flight.
    assert 3 <= retried <= allowed
    assert outcomes == {"ok": retried, "UNAVAILABLE": calls - retried}


async def test_two_layers_of_retries_multiply(tmp_path: Path) -> None:
    """Why the mesh's are off (k8s/components/mesh): radref's channel alone makes two, both make four."""
    for retried, expected in (((), 2), (IDEMPOTENT, 4)):
        async with answering(fails) as service:
            with running_envoy(tmp_path, Door("in", Cluster((service.address,)), retried=retried)) as envoy:
                async with open_channel(envoy.address("in")) as channel:
                    assert await attempts(channel, service, DESCRIBE) == expected
                    assert await attempts(channel, service, GENERATE) == 1
