"""Gateway, inference service and a real vLLM with a tiny, untrained model.

It writes the schema's JSON and nothing true, so whatever it says must end as an abstention, and the stream
must keep its promises all the same.
"""

from __future__ import annotations

import asyncio

import grpc
import pytest

from radref.api.gateway.v1 import answer_pb2, gateway_pb2
from tests.gateway.llm_stack import llm_stack
from tests.vllm.generation import PATIENCE, QUESTION, adapter
from tests.vllm.server import VllmServer

STREAM = gateway_pb2.StreamGenerateRequest(query=QUESTION)


async def test_untrained_output_never_becomes_a_statement(generator_server: VllmServer) -> None:
    async with llm_stack(adapter(generator_server), generation_parents=1) as stack:
        seen = [message async for message in stack.stub.StreamGenerate(STREAM, timeout=PATIENCE)]
        answer = await stack.stub.Generate(gateway_pb2.GenerateRequest(query=QUESTION), timeout=PATIENCE)
    assert [message.WhichOneof("event") for message in seen] == ["sources", "end"]
    for end in (seen[-1].end, answer):
        assert end.outcome == answer_pb2.OUTCOME_ABSTAINED
        assert end.usage.prompt_tokens > 100
        assert end.usage.completion_tokens > 10
        assert end.versions.generator.startswith("qwen3-30b-a3b@")


async def test_a_caller_who_goes_frees_the_server(generator_server: VllmServer) -> None:
    async with llm_stack(adapter(generator_server), generation_parents=1, max_answer_tokens=2000) as stack:
        call = stack.stub.StreamGenerate(STREAM, timeout=PATIENCE)
        assert (await anext(aiter(call))).HasField("sources")
        await generator_server.wait_busy()
        call.cancel()
        await generator_server.wait_idle()


async def test_a_deadline_shorter_than_the_answer_ends_it(generator_server: VllmServer) -> None:
    async with llm_stack(adapter(generator_server), generation_parents=1) as stack:
        request = gateway_pb2.GenerateRequest(query=QUESTION)
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await stack.stub.Generate(request, timeout=0.05)
        await generator_server.wait_idle()
    assert caught.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED


async def test_answers_side_by_side_do_not_mix(generator_server: VllmServer) -> None:
    async with llm_stack(adapter(generator_server), generation_parents=1, max_answer_tokens=64) as stack:
        request = gateway_pb2.GenerateRequest(query=QUESTION)
        answers = await asyncio.gather(*(stack.stub.Generate(request, timeout=PATIENCE) for _ in range(6)))
    assert len({answer.request_id for answer in answers}) == 6
    assert {answer.outcome for answer in answers} == {answer_pb2.OUTCOME_ABSTAINED}
