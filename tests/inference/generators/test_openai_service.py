"""The generator behind the real gRPC service: what callers see, and that their leaving reaches the server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass

import grpc
import pytest
import pytest_asyncio

from inference_svc.models import Models
from inference_svc.service import InferenceServicer
from radref.api.inference.v1 import inference_pb2 as pb
from radref.api.inference.v1.inference_pb2_grpc import (
    InferenceServiceStub,
    add_InferenceServiceServicer_to_server,
)
from radref.service.admission import Admission
from radref.service.channels import open_channel
from radref.service.interceptors import interceptors
from radref.service.status import error_from_rpc
from tests.inference.generators.openai_setup import CHAT, QUESTION, SCHEMA, generator, refuses, stalls, writes
from tests.inference.openai_standin import Standin, standin


@dataclass
class Service:
    stub: InferenceServiceStub
    upstream: Standin


@pytest_asyncio.fixture
async def service() -> AsyncIterator[Service]:
    async with standin() as upstream:
        made = generator(upstream.url)
        around = interceptors(
            Admission(64, 64), require_deadline=True, long_lived=frozenset(), draining=asyncio.Event()
        )
        server = grpc.aio.server(interceptors=around)
        add_InferenceServiceServicer_to_server(InferenceServicer(Models([], [], [made])), server)
        port = server.add_insecure_port("127.0.0.1:0")
        await server.start()
        channel = open_channel(f"127.0.0.1:{port}")
        yield Service(InferenceServiceStub(channel), upstream)
        await channel.close()
        await server.stop(None)
        await made.close()
        await upstream.idle()


def asked(json_schema: str = "") -> pb.GenerateRequest:
    message = pb.PromptMessage(role=pb.PROMPT_ROLE_USER, content=QUESTION)
    return pb.GenerateRequest(messages=[message], query=QUESTION, json_schema=json_schema, max_tokens=32)


async def test_streams_to_the_caller(service: Service) -> None:
    service.upstream.on(CHAT, writes("<think>тайна</think>", '{"dose": ', '"20 мЗв"}'))
    found = [piece async for piece in service.stub.Generate(asked(SCHEMA), timeout=20)]
    assert "".join(piece.delta for piece in found) == '{"dose": "20 мЗв"}'
    summary = found[-1].summary
    assert (summary.finish_reason, summary.prompt_tokens, summary.completion_tokens, summary.model) == (
        pb.FINISH_REASON_STOP,
        7,
        3,
        "qwen",
    )
    assert service.upstream.seen[0].json["max_tokens"] == 32


async def test_a_cancelled_call_ends_upstream(service: Service) -> None:
    service.upstream.on(CHAT, stalls)
    call = service.stub.Generate(asked(), timeout=20)
    assert (await call.read()) is not grpc.aio.EOF
    call.cancel()
    await service.upstream.idle()
    assert service.upstream.aborted == 1


async def test_a_deadline_ends_upstream(service: Service) -> None:
    service.upstream.on(CHAT, stalls)
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        async for _ in service.stub.Generate(asked(), timeout=0.5):
            pass
    assert caught.value.code() == grpc.StatusCode.DEADLINE_EXCEEDED
    await service.upstream.idle()
    assert service.upstream.aborted == 1


async def test_an_overloaded_server_says_when_to_come_back(service: Service) -> None:
    service.upstream.on(CHAT, refuses(503, retry_after="7"))
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        async for _ in service.stub.Generate(asked(), timeout=20):
            pass
    assert caught.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
    error = error_from_rpc(caught.value, backend="inference")
    assert (error.reason, error.retry_after) == ("OVERLOADED", 7.0)
