"""What a call brings along arrives behind the proxy, and the reason of a refusal comes back."""

import asyncio
from pathlib import Path

import grpc
import pytest

from radref import errors
from radref.service.channels import CHANNEL_OPTIONS, MAX_MESSAGE_BYTES
from radref.service.context import REQUEST_ID_HEADER
from radref.service.status import error_from_rpc
from tests.envoy.answering import DESCRIBE, Seen, answering, call, plain_channel
from tests.envoy.envoy_config import Cluster, Door
from tests.envoy.envoy_process import running_envoy

TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


EDGE = {"from_outside": True, "keeps_ids": True}


@pytest.mark.parametrize("kind", [{}, EDGE], ids=["sidecar", "edge that keeps ids"])
@pytest.mark.parametrize(
    "request_id",
    # The second is a UUID as Envoy makes them itself, which it may mark for its own traces.
    ["0af7651916cd43dd8448eb211c80319c", "7f1b3c52-5c0e-4b1e-9a53-2f4d8e6a7b10"],
)
async def test_request_id_trace_and_deadline_pass(tmp_path: Path, kind: dict, request_id: str) -> None:
    async with answering() as service:
        with running_envoy(tmp_path, Door("in", Cluster((service.address,)), **kind)) as envoy:
            async with plain_channel(envoy.address("in")) as channel:
                sent = {REQUEST_ID_HEADER: request_id, "traceparent": TRACE, "tracestate": "site=1"}
                trailers = await call(channel, DESCRIBE, 20, **sent)
    (seen,) = service.seen
    assert {name: seen.headers.get(name) for name in sent} == sent
    assert trailers[REQUEST_ID_HEADER] == request_id
    assert seen.remaining is not None
    assert 0 < seen.remaining <= 20


async def test_an_edge_that_gives_its_own_ids_tells_the_caller(tmp_path: Path) -> None:
    """Envoy's default at the edge: the id in the answer, not the one sent, leads to the log entry."""
    async with answering() as service:
        door = Door("in", Cluster((service.address,)), from_outside=True)
        with running_envoy(tmp_path, door) as envoy:
            async with plain_channel(envoy.address("in")) as channel:
                trailers = await call(channel, DESCRIBE, **{REQUEST_ID_HEADER: "mine", "traceparent": TRACE})
    (seen,) = service.seen
    assert seen.headers[REQUEST_ID_HEADER] != "mine"
    assert trailers[REQUEST_ID_HEADER] == seen.headers[REQUEST_ID_HEADER]
    assert seen.headers["traceparent"] == TRACE


async def test_without_a_request_id_both_sides_know_the_proxys(tmp_path: Path) -> None:
    async with answering() as service:
        with running_envoy(tmp_path, Door("in", Cluster((service.address,)))) as envoy:
            async with plain_channel(envoy.address("in")) as channel:
                trailers = await call(channel, DESCRIBE)
    assert trailers[REQUEST_ID_HEADER] == service.seen[0].headers[REQUEST_ID_HEADER]


async def test_without_a_deadline_the_service_refuses_also_behind_the_proxy(tmp_path: Path) -> None:
    """A proxy must not put its own time-out in the place of the caller's."""
    async with answering() as service:
        with running_envoy(tmp_path, Door("in", Cluster((service.address,)))) as envoy:
            async with plain_channel(envoy.address("in")) as channel:
                with pytest.raises(grpc.aio.AioRpcError) as caught:
                    await channel.unary_unary(DESCRIBE)(b"")
    assert error_from_rpc(caught.value, backend="test").reason == "DEADLINE_REQUIRED"
    assert service.seen == []


async def test_a_deadline_that_passes_is_told_with_its_reason(tmp_path: Path) -> None:
    async def never(seen: Seen) -> None:
        await asyncio.Event().wait()

    async with answering(never) as service:
        with running_envoy(tmp_path, Door("in", Cluster((service.address,)))) as envoy:
            async with plain_channel(envoy.address("in")) as channel:
                with pytest.raises(grpc.aio.AioRpcError) as caught:
                    await call(channel, DESCRIBE, 1)
    assert isinstance(error_from_rpc(caught.value, backend="test"), errors.DeadlineExceeded)
    assert caught.value.details() == "the answer was not ready before the deadline"


async def test_a_caller_that_leaves_is_known_behind_the_proxy(tmp_path: Path) -> None:
    """What is generated for nobody is stopped."""
    arrived, left = asyncio.Event(), asyncio.Event()

    async def until_left(seen: Seen) -> None:
        arrived.set()
        try:
            await asyncio.Event().wait()
        finally:
            left.set()

    async with answering(until_left) as service:
        with running_envoy(tmp_path, Door("in", Cluster((service.address,)))) as envoy:
            async with plain_channel(envoy.address("in")) as channel:
                calling = channel.unary_unary(DESCRIBE)(b"", timeout=600)
                async with asyncio.timeout(60):
                    await arrived.wait()
                    calling.cancel()
                    await left.wait()


async def test_a_long_documents_vectors_pass_also_where_calls_may_be_made_again(tmp_path: Path) -> None:
    """Longer than what a proxy keeps for a retry (1 MiB), up to what services take."""
    size = MAX_MESSAGE_BYTES - 1024
    async with answering() as service:
        with running_envoy(tmp_path, Door("in", Cluster((service.address,)), retried=(DESCRIBE,))) as envoy:
            async with grpc.aio.insecure_channel(envoy.address("in"), options=CHANNEL_OPTIONS) as channel:
                assert await channel.unary_unary(DESCRIBE)(bytes(size), timeout=120) == bytes(size)
    assert len(service.seen) == 1


async def test_refusals_keep_reason_and_retry_time(tmp_path: Path) -> None:
    async def busy(seen: Seen) -> None:
        raise errors.Overloaded("the service is busy; try again shortly", retry_after=1.5)

    async with answering(busy) as service:
        with running_envoy(tmp_path, Door("in", Cluster((service.address,)))) as envoy:
            async with plain_channel(envoy.address("in")) as channel:
                with pytest.raises(grpc.aio.AioRpcError) as caught:
                    await call(channel, DESCRIBE)
    refused = error_from_rpc(caught.value, backend="test")
    assert isinstance(refused, errors.Overloaded)
    assert (refused.reason, refused.retry_after) == ("OVERLOADED", 1.5)


async def test_the_proxys_own_time_out_looks_like_an_outage_and_ends_the_work(tmp_path: Path) -> None:
    """Not as DEADLINE_EXCEEDED: a net below the callers' deadlines would have calls made again."""
    left = asyncio.Event()

    async def never(seen: Seen) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            left.set()

    async with answering(never) as service:
        door = Door("in", Cluster((service.address,)), timeout_seconds=0.5)
        with running_envoy(tmp_path, door) as envoy:
            async with plain_channel(envoy.address("in")) as channel, asyncio.timeout(60):
                with pytest.raises(grpc.aio.AioRpcError) as caught:
                    await call(channel, DESCRIBE, 600)
                await left.wait()
    assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
    assert caught.value.details() == "upstream request timeout"
