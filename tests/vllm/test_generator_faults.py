"""Clients that leave, deadlines, a server that hangs, dies and comes back: on a real vLLM."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import grpc
import pytest
import pytest_asyncio

from gateway.answering.schema import ANSWER_SCHEMA_JSON
from radref.api.inference.v1 import inference_pb2 as pb
from radref.api.inference.v1.inference_pb2_grpc import InferenceServiceStub
from radref.errors import DeadlineExceeded, Unavailable
from tests.vllm.generation import PATIENCE, adapter, collected, question
from tests.vllm.server import VllmServer
from tests.vllm.serving import inference_service, refused

# Tokens that keep the server busy far longer than any test here needs.
LONG = 3500


@pytest_asyncio.fixture
async def stub(generator_server: VllmServer) -> AsyncIterator[InferenceServiceStub]:
    async with inference_service(generators=[adapter(generator_server, max_tokens=LONG)]) as made:
        yield made


async def test_a_client_that_cancels_mid_stream_frees_the_server(
    stub: InferenceServiceStub, generator_server: VllmServer
) -> None:
    call = stub.Generate(question(), timeout=PATIENCE)
    responses = aiter(call)
    for _ in range(5):
        assert (await anext(responses)).delta
    assert await generator_server.requests() == 1
    call.cancel()
    await generator_server.wait_idle()


async def test_clients_that_cancel_before_the_first_token_free_the_server(
    stub: InferenceServiceStub, generator_server: VllmServer
) -> None:
    # The server runs four at once: the others are cancelled while they wait there.
    calls = [stub.Generate(question(), timeout=PATIENCE) for _ in range(8)]
    await generator_server.wait_busy(8)
    for call in calls:
        call.cancel()
    await generator_server.wait_idle()


async def test_a_client_that_vanishes_frees_the_server(generator_server: VllmServer) -> None:
    async with inference_service(generators=[adapter(generator_server, max_tokens=LONG)]) as stub:
        call = stub.Generate(question(), timeout=PATIENCE)
        await anext(aiter(call))
        # Leaving closes the channel, and the service while it generates.
    await generator_server.wait_idle()


@pytest.mark.parametrize("schema", ["", '{"type": "string", "minLength": 3000}'], ids=["free", "schema"])
async def test_a_deadline_in_the_middle_of_an_answer_frees_the_server(
    stub: InferenceServiceStub, generator_server: VllmServer, schema: str
) -> None:
    # Its first token may take a while on a busy machine: what is measured is only that it ends.
    call = stub.Generate(question(schema=schema), timeout=3.0)
    assert isinstance(await refused(call), DeadlineExceeded)
    await generator_server.wait_idle()


async def test_a_deadline_before_the_first_token_frees_the_server(
    stub: InferenceServiceStub, generator_server: VllmServer
) -> None:
    error = await refused(stub.Generate(question(), timeout=0.15))
    assert isinstance(error, DeadlineExceeded)
    await generator_server.wait_idle()


async def test_a_server_that_hangs_is_left_at_the_deadline_and_used_again_when_it_goes_on(
    stub: InferenceServiceStub, generator_server: VllmServer
) -> None:
    call = stub.Generate(question(), timeout=5.0)
    responses = aiter(call)
    await anext(responses)
    generator_server.pause()
    try:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            async for _ in responses:
                pass
        assert caught.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
        assert isinstance(await refused(stub.Generate(question(), timeout=0.5)), DeadlineExceeded)
    finally:
        generator_server.resume()
    await generator_server.wait_idle()
    answer = await collected(stub.Generate(question(max_tokens=10), timeout=PATIENCE))
    assert answer.summary.completion_tokens == 10


async def test_a_server_that_falls_silent_counts_as_stuck_before_the_deadline(
    generator_server: VllmServer,
) -> None:
    generator = adapter(generator_server, max_tokens=LONG, idle=1.0)
    async with inference_service(generators=[generator]) as stub:
        call = stub.Generate(question(), timeout=PATIENCE)
        responses = aiter(call)
        await anext(responses)
        generator_server.pause()
        try:
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                async for _ in responses:
                    pass
        finally:
            generator_server.resume()
    assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
    await generator_server.wait_idle()


async def test_a_server_that_dies_mid_stream_is_an_outage_until_it_is_back(
    stub: InferenceServiceStub, generator_server: VllmServer
) -> None:
    call = stub.Generate(question(), timeout=PATIENCE)
    responses = aiter(call)
    await anext(responses)
    await asyncio.to_thread(generator_server.kill)
    try:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            async for _ in responses:
                pass
        assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
        error = await refused(stub.Generate(question(), timeout=PATIENCE))
        assert isinstance(error, Unavailable)
        assert error.reason == "BACKEND_UNAVAILABLE"
    finally:
        generator_server.start()
    # Nothing listens yet, later something listens that does not answer: refused either way, never a hang.
    assert isinstance(await refused(stub.Generate(question(), timeout=PATIENCE)), Unavailable)
    await asyncio.to_thread(generator_server.wait_ready)
    answer = await collected(stub.Generate(question(schema=ANSWER_SCHEMA_JSON), timeout=PATIENCE))
    assert answer.summary.finish_reason == pb.FINISH_REASON_STOP
