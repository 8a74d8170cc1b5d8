"""A language model that misbehaves, seen through gateway and inference service over gRPC.

Whatever it does: no hang, no statement that was not checked, and the outcome that the API promises.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence

import grpc
import pytest

from radref.api.gateway.v1 import answer_pb2, gateway_pb2
from radref.errors import RadrefError
from radref.service.status import error_from_rpc
from tests.gateway.llm_stack import LlmStack, llm_stack
from tests.gateway.test_pipeline import GOOD, output
from tests.inference.generators.openai_setup import CHAT, generator, writes
from tests.inference.openai_standin import Exchange, Script, standin

QUESTION = "What is the eye lens limit for a worker?"
INVENTED = {"text": "It is 50 mSv.", "citations": [{"id": "b" * 20, "quote": "It is 50 mSv."}]}
WHOLE = output(GOOD)
PATIENCE = 30.0


async def streamed(
    stack: LlmStack, timeout: float = PATIENCE
) -> tuple[list[gateway_pb2.StreamGenerateResponse], RadrefError | None]:
    """All messages until the end, and the error that ended them."""
    request = gateway_pb2.StreamGenerateRequest(query=QUESTION)
    seen: list[gateway_pb2.StreamGenerateResponse] = []
    try:
        async for message in stack.stub.StreamGenerate(request, timeout=timeout):
            seen.append(message)  # noqa: PERF401 - kept also when the call fails
    except grpc.aio.AioRpcError as exc:
        return seen, error_from_rpc(exc, backend="gateway")
    return seen, None


def kinds(messages: Sequence[gateway_pb2.StreamGenerateResponse]) -> list[str | None]:
    return [message.WhichOneof("event") for message in messages]


def assert_checked(messages: Sequence[gateway_pb2.StreamGenerateResponse]) -> None:
    passages = {
        parent.passage.citation_id: parent.passage.text for parent in messages[0].sources.ranked_parents
    }
    for message in messages:
        if message.WhichOneof("event") == "statement":
            assert message.statement.citations
            for citation in message.statement.citations:
                text = passages[citation.citation_id]
                assert text[citation.start : citation.end] == citation.quote


async def generated(stack: LlmStack, timeout: float = PATIENCE) -> gateway_pb2.GenerateResponse:
    return await stack.stub.Generate(gateway_pb2.GenerateRequest(query=QUESTION), timeout=timeout)


def pauses_after(text: str, go_on: asyncio.Event, rest: str) -> Script:
    async def script(exchange: Exchange) -> None:
        await exchange.begin()
        await exchange.content(text)
        await go_on.wait()
        await exchange.content(rest)
        await exchange.end()

    return script


async def test_a_statement_is_shown_while_the_model_still_writes() -> None:
    two = output(GOOD, GOOD)
    place = two.index('"quote"') + two[two.index('"quote"') :].index("]}") + 3
    go_on = asyncio.Event()
    async with standin() as server, llm_stack(generator(server.url)) as stack:
        server.on(CHAT, pauses_after(two[:place], go_on, two[place:]))
        call = stack.stub.StreamGenerate(gateway_pb2.StreamGenerateRequest(query=QUESTION), timeout=PATIENCE)
        messages = aiter(call)
        seen = [await anext(messages), await anext(messages)]
        assert kinds(seen) == ["sources", "statement"]
        go_on.set()
        seen += [message async for message in messages]
    assert kinds(seen) == ["sources", "statement", "statement", "end"]
    assert_checked(seen)
    assert seen[-1].end.outcome == answer_pb2.OUTCOME_ANSWERED
    assert seen[-1].end.usage.completion_tokens == 3


async def test_a_caller_who_goes_stops_the_model() -> None:
    never = asyncio.Event()
    async with standin() as server, llm_stack(generator(server.url)) as stack:
        server.on(CHAT, pauses_after(WHOLE[:30], never, ""))
        call = stack.stub.StreamGenerate(gateway_pb2.StreamGenerateRequest(query=QUESTION), timeout=PATIENCE)
        assert (await call.read()).WhichOneof("event") == "sources"
        async with asyncio.timeout(PATIENCE):
            while not server.open_requests:
                await asyncio.sleep(0.01)
        call.cancel()
        await server.idle()
        assert server.aborted == 1
        waiting = asyncio.ensure_future(generated(stack))
        async with asyncio.timeout(PATIENCE):
            while not server.open_requests:
                await asyncio.sleep(0.01)
        waiting.cancel()
        await server.idle()
        assert server.aborted == 2


@pytest.mark.parametrize("first", ["Sure, here you are.", '{"statements": [', "[]", '{"statements": {}}'])
async def test_broken_json_is_asked_for_again(first: str) -> None:
    async with standin() as server, llm_stack(generator(server.url)) as stack:
        server.on(CHAT, writes(first), writes(WHOLE))
        answer = await generated(stack)
        assert len(server.seen) == 2
        assert "first attempt" in server.seen[1].json["messages"][-1]["content"]
    assert answer.outcome == answer_pb2.OUTCOME_ANSWERED


async def test_json_that_stays_broken_is_an_abstention() -> None:
    async with standin() as server, llm_stack(generator(server.url)) as stack:
        server.on(CHAT, writes("I refuse to write JSON."))
        seen, error = await streamed(stack)
        assert len(server.seen) == 2
    assert error is None
    assert kinds(seen) == ["sources", "end"]
    assert seen[-1].end.abstention.reason == answer_pb2.ABSTENTION_REASON_NO_VALID_CITATION


@pytest.mark.parametrize(
    "statement", [INVENTED, {**GOOD, "text": "It is 50 mSv."}, {**GOOD, "text": "50 mSv", "citations": []}]
)
async def test_what_does_not_pass_the_validator_is_never_sent(statement: dict[str, object]) -> None:
    async with standin() as server, llm_stack(generator(server.url)) as stack:
        server.on(CHAT, writes(output(statement)))
        seen, _ = await streamed(stack)
    assert kinds(seen) == ["sources", "end"]
    assert seen[-1].end.abstention.reason == answer_pb2.ABSTENTION_REASON_NO_VALID_CITATION
    assert b"50 mSv" not in seen[-1].SerializeToString()


@pytest.mark.parametrize("written", [WHOLE[:40], output(GOOD, GOOD)[:-30]])
async def test_a_model_that_dies_in_the_middle_is_unavailable(written: str) -> None:
    async def dies(exchange: Exchange) -> None:
        await exchange.begin()
        await exchange.content(written)
        exchange.cut()

    async with standin() as server, llm_stack(generator(server.url)) as stack:
        server.on(CHAT, dies)
        seen, error = await streamed(stack)
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await generated(stack)
    assert error is not None
    assert error.reason == error_from_rpc(caught.value, backend="gateway").reason == "BACKEND_UNAVAILABLE"
    assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
    assert "end" not in kinds(seen)
    assert_checked(seen)


async def test_a_dead_server_is_unavailable() -> None:
    async with standin() as server:
        url = server.url
    async with llm_stack(generator(url, attempts=1)) as stack:
        _, error = await streamed(stack)
    assert error is not None
    assert error.reason == "BACKEND_UNAVAILABLE"


async def test_a_silent_server_is_unavailable_before_the_deadline() -> None:
    async def silent(exchange: Exchange) -> None:
        await exchange.begin()
        await exchange.hang()

    async with standin() as server, llm_stack(generator(server.url, idle=1.0, attempts=1)) as stack:
        server.on(CHAT, silent)
        _, error = await streamed(stack)
        await server.idle()
    assert error is not None
    assert error.reason == "BACKEND_UNAVAILABLE"


async def test_a_slow_server_ends_with_the_callers_deadline_and_is_told_to_stop() -> None:
    async def slow(exchange: Exchange) -> None:
        await exchange.begin()
        while True:
            await exchange.content(" ")
            await asyncio.sleep(0.02)

    async with standin() as server, llm_stack(generator(server.url)) as stack:
        server.on(CHAT, slow)
        _, error = await streamed(stack, timeout=1.0)
        await server.idle()
    assert error is not None
    assert error.reason == "DEADLINE"


async def test_endless_output_is_stopped_at_the_cap() -> None:
    async def endless(exchange: Exchange) -> None:
        await exchange.begin()
        await exchange.content('{"analysis": "')
        while True:
            await exchange.content("again and again " * 20)

    async with standin() as server, llm_stack(generator(server.url), max_answer_tokens=128) as stack:
        server.on(CHAT, endless)
        answer = await generated(stack)
        await server.idle()
        assert server.seen[0].json["max_tokens"] == 64  # the model's own, lower setting
        assert len(server.seen) == 1
    assert answer.outcome == answer_pb2.OUTCOME_ABSTAINED


async def test_output_at_the_token_limit_keeps_what_was_checked() -> None:
    async with standin() as server, llm_stack(generator(server.url)) as stack:
        server.on(CHAT, writes(output(GOOD, GOOD)[:-20], finish="length"))
        seen, error = await streamed(stack)
    assert error is None
    assert kinds(seen) == ["sources", "statement", "end"]
    assert seen[-1].end.outcome == answer_pb2.OUTCOME_PARTIALLY_ANSWERED


async def test_the_analysis_is_never_shown() -> None:
    async with standin() as server, llm_stack(generator(server.url)) as stack:
        server.on(CHAT, writes(WHOLE))
        seen, _ = await streamed(stack)
        answer = await generated(stack)
    assert "secret thoughts" in json.dumps(WHOLE)
    for message in [*seen, answer]:
        assert b"secret thoughts" not in message.SerializeToString()
