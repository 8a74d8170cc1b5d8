"""A server in the test's own process that answers any method of any radref service, as the test says."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import grpc

from radref.api.gateway.v1 import gateway_pb2
from radref.api.inference.v1 import inference_pb2
from radref.api.ingest.v1 import ingest_pb2
from radref.api.retrieval.v1 import index_pb2, retrieval_pb2
from radref.service.admission import Admission
from radref.service.channels import CHANNEL_OPTIONS
from radref.service.guard import Guard
from radref.service.interceptors import guarded

ALL_METHODS = tuple(
    f"/{service.full_name}/{method.name}"
    for module in (gateway_pb2, inference_pb2, ingest_pb2, index_pb2, retrieval_pb2)
    for service in module.DESCRIPTOR.services_by_name.values()
    for method in service.methods
)
DESCRIBE = "/radref.api.inference.v1.InferenceService/Describe"
GENERATE = "/radref.api.inference.v1.InferenceService/Generate"


@dataclass(frozen=True, slots=True)
class Seen:
    """A call that arrived.

    Attributes:
        number: from 1 on, of all calls.
        remaining: seconds until its deadline; None = it has none.
    """

    number: int
    method: str
    headers: dict[str, str]
    remaining: float | None


Answer = Callable[[Seen], Awaitable[None]]


@dataclass(slots=True)
class Answering:
    """A running server."""

    address: str = ""
    seen: list[Seen] = field(default_factory=list)


@asynccontextmanager
async def answering(answer: Answer | None = None, *, port: int = 0) -> AsyncIterator[Answering]:
    """Serves with radref's own interceptors, so errors are told as services tell them.

    Args:
        answer: runs in each call; what it raises (radref.errors) is the answer. None = all is well.
        port: 0 = a free one.
    """
    running = Answering()

    class Anything(grpc.GenericRpcHandler):
        def service(self, handler_call_details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler:
            method = handler_call_details.method

            async def serve(request: bytes, context: grpc.aio.ServicerContext) -> bytes:
                headers = {k: v for k, v in context.invocation_metadata() or () if isinstance(v, str)}
                seen = Seen(len(running.seen) + 1, method, headers, context.time_remaining())
                running.seen.append(seen)
                if answer is not None:
                    await answer(seen)
                return request

            return grpc.unary_unary_rpc_method_handler(serve)

    guard = Guard(admission=Admission(1000, 0), require_deadline=True)
    server = grpc.aio.server(interceptors=guarded(guard), handlers=[Anything()], options=CHANNEL_OPTIONS[:2])
    running.address = f"127.0.0.1:{server.add_insecure_port(f'127.0.0.1:{port}')}"
    await server.start()
    try:
        yield running
    finally:
        await server.stop(0)


@asynccontextmanager
async def plain_channel(address: str) -> AsyncIterator[grpc.aio.Channel]:
    """A channel that makes nothing again by itself: what fails on the way is seen."""
    async with grpc.aio.insecure_channel(address, options=(("grpc.enable_retries", 0),)) as channel:
        yield channel


async def call(
    channel: grpc.aio.Channel, method: str, timeout: float = 30, **headers: str
) -> grpc.aio.Metadata:
    """One call with an empty request; returns its trailing metadata."""
    made = channel.unary_unary(method)(b"", timeout=timeout, metadata=tuple(headers.items()))
    await made
    return await made.trailing_metadata()


async def until_true(condition: Callable[[], bool]) -> None:
    """Waits for what must come, while this loop goes on."""
    async with asyncio.timeout(60):
        while not condition():
            await asyncio.sleep(0.01)
