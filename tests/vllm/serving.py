"""radref's inference service over a real channel, in front of given models."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import grpc
import pytest

from inference_svc.generators.generator import Generator
from inference_svc.models import Models
from inference_svc.rerankers.reranker import Reranker
from inference_svc.service import InferenceServicer
from radref.api.inference.v1.inference_pb2_grpc import (
    InferenceServiceStub,
    add_InferenceServiceServicer_to_server,
)
from radref.errors import RadrefError
from radref.service.admission import Admission
from radref.service.channels import MAX_MESSAGE_BYTES, open_channel
from radref.service.interceptors import interceptors
from radref.service.status import error_from_rpc


@asynccontextmanager
async def inference_service(
    *, rerankers: Sequence[Reranker] = (), generators: Sequence[Generator] = ()
) -> AsyncIterator[InferenceServiceStub]:
    """A stub of the service; the models are closed with it."""
    server = grpc.aio.server(
        interceptors=interceptors(
            Admission(64, 64), require_deadline=True, long_lived=frozenset(), draining=asyncio.Event()
        ),
        options=[("grpc.max_receive_message_length", MAX_MESSAGE_BYTES)],
    )
    add_InferenceServiceServicer_to_server(InferenceServicer(Models([], rerankers, generators)), server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    channel = open_channel(f"127.0.0.1:{port}")
    try:
        yield InferenceServiceStub(channel)
    finally:
        await channel.close()
        await server.stop(None)
        for reranker in rerankers:
            await reranker.close()
        for generator in generators:
            await generator.close()


async def refused(call: grpc.aio.Call) -> RadrefError:
    """The error a call ends in, as radref's client would see it."""

    async def outcome() -> None:
        if isinstance(call, grpc.aio.UnaryStreamCall):
            async for _ in call:
                pass
        else:
            await call

    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await outcome()
    return error_from_rpc(caught.value, backend="inference")
