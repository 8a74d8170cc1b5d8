"""What the interceptors do around every call, over a real loopback server."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import grpc
import pytest
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from radref import errors
from radref.api.gateway.v1 import gateway_pb2, gateway_pb2_grpc
from radref.service.admission import Admission
from radref.service.channels import open_channel
from radref.service.context import current_call, downstream_timeout
from radref.service.interceptors import interceptors
from radref.service.metrics import ADMISSION_REJECTED, RPC_SECONDS
from radref.service.status import error_from_rpc

Behaviour = Callable[[gateway_pb2.SearchRequest], Awaitable[gateway_pb2.SearchResponse]]


class Scripted(gateway_pb2_grpc.GatewayServiceServicer):
    def __init__(self, behaviour: Behaviour) -> None:
        self.behaviour = behaviour

    async def Search(self, request, context):  # noqa: N802
        return await self.behaviour(request)

    async def StreamGenerate(self, request, context):  # noqa: N802
        yield gateway_pb2.StreamGenerateResponse()
        if request.query == "endless":
            await asyncio.Event().wait()
        raise errors.Unavailable("gone")


@dataclass
class Served:
    stub: gateway_pb2_grpc.GatewayServiceStub
    address: str


@asynccontextmanager
async def serving(
    behaviour: Behaviour,
    *,
    max_inflight: int = 4,
    max_queue: int = 4,
    long_lived: frozenset[str] = frozenset(),
    draining: asyncio.Event | None = None,
) -> AsyncIterator[Served]:
    server = grpc.aio.server(
        interceptors=interceptors(
            Admission(max_inflight, max_queue),
            require_deadline=True,
            long_lived=long_lived,
            draining=draining or asyncio.Event(),
        )
    )
    gateway_pb2_grpc.add_GatewayServiceServicer_to_server(Scripted(behaviour), server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    channel = open_channel(f"127.0.0.1:{port}")
    try:
        yield Served(gateway_pb2_grpc.GatewayServiceStub(channel), f"127.0.0.1:{port}")
    finally:
        await channel.close()
        await server.stop(0)


async def raising(error: Exception) -> gateway_pb2.SearchResponse:
    raise error


def error_info(exc: grpc.aio.AioRpcError) -> error_details_pb2.ErrorInfo:
    status = rpc_status.from_call(exc)
    assert status is not None
    info = error_details_pb2.ErrorInfo()
    assert status.details[0].Unpack(info)
    return info


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.InvalidInput("x", reason="EMPTY_TEXT", field="query"), grpc.StatusCode.INVALID_ARGUMENT),
        (errors.NotFound("x", reason="UNKNOWN_CITATION"), grpc.StatusCode.NOT_FOUND),
        (errors.PreconditionFailed("x"), grpc.StatusCode.FAILED_PRECONDITION),
        (errors.Overloaded("x", retry_after=1.5), grpc.StatusCode.RESOURCE_EXHAUSTED),
        (errors.Unavailable("x", metadata={"backend": "store"}), grpc.StatusCode.UNAVAILABLE),
        (errors.DeadlineExceeded("x"), grpc.StatusCode.DEADLINE_EXCEEDED),
        (errors.Unimplemented("x"), grpc.StatusCode.UNIMPLEMENTED),
    ],
)
async def test_an_error_survives_the_wire(error: errors.RadrefError, code: grpc.StatusCode) -> None:
    async with serving(lambda _: raising(error)) as served:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await served.stub.Search(gateway_pb2.SearchRequest(), timeout=5)
    assert caught.value.code() == code
    info = error_info(caught.value)
    assert (info.domain, info.reason) == ("radref", error.reason)
    back = error_from_rpc(caught.value, backend="gateway")
    assert type(back) is type(error)
    assert (back.reason, back.message, back.field) == (error.reason, error.message, error.field)
    assert back.retry_after == error.retry_after
    assert error.metadata.items() <= back.metadata.items()


async def test_a_defect_is_internal_and_keeps_its_text_to_itself(capfd: pytest.CaptureFixture[str]) -> None:
    async with serving(lambda _: raising(ValueError("John Doe, born 1950"))) as served:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await served.stub.Search(gateway_pb2.SearchRequest(), timeout=5)
    assert caught.value.code() == grpc.StatusCode.INTERNAL
    assert error_info(caught.value).reason == "INTERNAL"
    output = capfd.readouterr()
    assert "John Doe" not in str(caught.value) + output.out + output.err


async def test_a_call_without_deadline_is_refused() -> None:
    async def answer(_: gateway_pb2.SearchRequest) -> gateway_pb2.SearchResponse:
        return gateway_pb2.SearchResponse()

    async with serving(answer) as served:
        bare = grpc.aio.insecure_channel(served.address)
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await gateway_pb2_grpc.GatewayServiceStub(bare).Search(gateway_pb2.SearchRequest())
        await bare.close()
    assert error_info(caught.value).reason == "DEADLINE_REQUIRED"


async def test_work_longer_than_the_deadline_is_answered_with_a_reason() -> None:
    cancelled = asyncio.Event()

    async def slow(_: gateway_pb2.SearchRequest) -> gateway_pb2.SearchResponse:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise
        raise AssertionError

    async with serving(slow) as served:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await served.stub.Search(gateway_pb2.SearchRequest(), timeout=0.3)
        await asyncio.wait_for(cancelled.wait(), 5)
    assert caught.value.code() == grpc.StatusCode.DEADLINE_EXCEEDED


async def test_an_unknown_method_is_refused_with_a_reason() -> None:
    async with serving(lambda _: raising(AssertionError())) as served:
        channel = grpc.aio.insecure_channel(served.address)
        call = channel.unary_unary("/radref.api.gateway.v1.GatewayService/Nothing")
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await call(b"", timeout=5)
        await channel.close()
    assert caught.value.code() == grpc.StatusCode.UNIMPLEMENTED
    assert error_info(caught.value).reason == "UNKNOWN_METHOD"


async def test_a_stream_that_fails_midway_ends_with_a_reason() -> None:
    async with serving(lambda _: raising(AssertionError())) as served:
        call = served.stub.StreamGenerate(gateway_pb2.StreamGenerateRequest(), timeout=5)
        await call.read()
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await call.read()
    assert error_info(caught.value).reason == "BACKEND_UNAVAILABLE"


async def test_a_long_lived_stream_needs_no_deadline_and_ends_when_the_service_drains() -> None:
    draining = asyncio.Event()
    method = "/radref.api.gateway.v1.GatewayService/StreamGenerate"
    async with serving(
        lambda _: raising(AssertionError()), long_lived=frozenset({method}), draining=draining
    ) as served:
        channel = grpc.aio.insecure_channel(served.address)
        stub = gateway_pb2_grpc.GatewayServiceStub(channel)
        call = stub.StreamGenerate(gateway_pb2.StreamGenerateRequest(query="endless"))
        await call.read()
        draining.set()
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await asyncio.wait_for(call.read(), 5)
        await channel.close()
    assert (caught.value.code(), error_info(caught.value).reason) == (
        grpc.StatusCode.UNAVAILABLE,
        "NOT_READY",
    )


async def test_request_id_travels_and_odd_ones_are_replaced() -> None:
    seen: list[str] = []

    async def answer(_: gateway_pb2.SearchRequest) -> gateway_pb2.SearchResponse:
        call = current_call()
        assert call is not None
        seen.append(call.request_id)
        assert downstream_timeout(100) < 5
        return gateway_pb2.SearchResponse()

    async with serving(answer) as served:
        for value in ("abc-1", "x" * 65, "a b"):
            await served.stub.Search(
                gateway_pb2.SearchRequest(), timeout=5, metadata=(("x-request-id", value),)
            )
    assert seen[0] == "abc-1"
    assert all(len(request_id) == 32 for request_id in seen[1:])


async def test_beyond_the_queue_calls_are_shed() -> None:
    release = asyncio.Event()
    started = asyncio.Event()

    async def hold(_: gateway_pb2.SearchRequest) -> gateway_pb2.SearchResponse:
        started.set()
        await release.wait()
        return gateway_pb2.SearchResponse()

    before = ADMISSION_REJECTED._value.get()
    async with serving(hold, max_inflight=1, max_queue=0) as served:
        first = asyncio.ensure_future(served.stub.Search(gateway_pb2.SearchRequest(), timeout=30))
        await asyncio.wait_for(started.wait(), 5)
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await served.stub.Search(gateway_pb2.SearchRequest(), timeout=30)
        release.set()
        await first
    assert caught.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
    assert error_from_rpc(caught.value, backend="gateway").retry_after == 1.0
    assert ADMISSION_REJECTED._value.get() == before + 1


async def test_metrics_carry_the_status_the_caller_saw() -> None:
    labels = {
        "service": "radref.api.gateway.v1.GatewayService",
        "method": "Search",
        "code": "FAILED_PRECONDITION",
    }
    before = RPC_SECONDS.labels(**labels)._sum.get()
    async with serving(lambda _: raising(errors.PreconditionFailed("x"))) as served:
        with pytest.raises(grpc.aio.AioRpcError):
            await served.stub.Search(gateway_pb2.SearchRequest(), timeout=5)
    assert RPC_SECONDS.labels(**labels)._sum.get() > before


async def test_a_dead_service_is_unavailable() -> None:
    channel = open_channel("127.0.0.1:1")
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await gateway_pb2_grpc.GatewayServiceStub(channel).Search(gateway_pb2.SearchRequest(), timeout=5)
    await channel.close()
    error = error_from_rpc(caught.value, backend="gateway")
    assert isinstance(error, errors.Unavailable)
    assert error.message == "the gateway service does not answer"
