"""Generate over gRPC, through the OpenAI-compatible adapter, on a real vLLM with a tiny Qwen3-MoE."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator

import httpx2
import pytest
import pytest_asyncio

from gateway.answering.schema import ANSWER_SCHEMA_JSON, parse_answer
from radref.api.inference.v1 import inference_pb2 as pb
from radref.api.inference.v1.inference_pb2_grpc import InferenceServiceStub
from radref.errors import InvalidInput, Unavailable
from tests.vllm.conftest import WINDOW
from tests.vllm.generation import MODEL, PATIENCE, QUESTION, adapter, collected, question
from tests.vllm.server import VllmServer
from tests.vllm.serving import inference_service, refused

RUSSIAN = "Доза при КТ органов грудной клетки — около 7 мЗв; см. «Приказ № 560н»"


@pytest_asyncio.fixture
async def stub(generator_server: VllmServer) -> AsyncIterator[InferenceServiceStub]:
    async with inference_service(generators=[adapter(generator_server)]) as made:
        yield made


async def test_free_text_streams_in_deltas_up_to_the_cap_and_counts_tokens(
    stub: InferenceServiceStub,
) -> None:
    answer = await collected(stub.Generate(question(max_tokens=40), timeout=PATIENCE))
    assert len(answer.deltas) >= 10
    assert all(answer.deltas)
    # Letters span tokens of this vocabulary: no piece of one may come out as a replacement character.
    assert "Доза при КТ" in answer.text
    assert "\ufffd" not in answer.text
    assert answer.summary.finish_reason == pb.FINISH_REASON_LENGTH
    assert answer.summary.completion_tokens == 40
    assert answer.summary.prompt_tokens > 20
    assert answer.summary.model == MODEL
    assert len(bytes.fromhex(answer.summary.fingerprint)) == 8


async def test_the_settings_cap_holds_where_the_request_names_none(generator_server: VllmServer) -> None:
    async with inference_service(generators=[adapter(generator_server, max_tokens=7)]) as stub:
        answer = await collected(stub.Generate(question(), timeout=PATIENCE))
        larger = await collected(stub.Generate(question(max_tokens=100), timeout=PATIENCE))
    for one in (answer, larger):
        assert (one.summary.finish_reason, one.summary.completion_tokens) == (pb.FINISH_REASON_LENGTH, 7)


async def test_the_first_delta_arrives_while_the_server_still_generates(
    stub: InferenceServiceStub, generator_server: VllmServer
) -> None:
    call = stub.Generate(question(max_tokens=1500), timeout=PATIENCE)
    first = await anext(aiter(call))
    assert first.delta
    await generator_server.wait_busy()
    call.cancel()
    await generator_server.wait_idle()


async def test_the_answer_schema_yields_an_answer_the_gateway_reads(stub: InferenceServiceStub) -> None:
    request = question(schema=ANSWER_SCHEMA_JSON)
    answer = await collected(stub.Generate(request, timeout=PATIENCE))
    assert answer.summary.finish_reason == pb.FINISH_REASON_STOP
    assert len(answer.deltas) >= 10
    written = json.loads(answer.text)
    assert list(written) == list(json.loads(ANSWER_SCHEMA_JSON)["properties"])
    parsed = parse_answer(answer.text)
    assert all(citation.id for statement in parsed.statements for citation in statement.citations)


async def test_an_answer_that_hits_the_cap_says_so(stub: InferenceServiceStub) -> None:
    request = question(schema=ANSWER_SCHEMA_JSON, max_tokens=12)
    answer = await collected(stub.Generate(request, timeout=PATIENCE))
    assert answer.summary.finish_reason == pb.FINISH_REASON_LENGTH
    assert answer.summary.completion_tokens == 12
    assert answer.text.startswith("{")
    with pytest.raises(ValueError, match=r"Expecting|Unterminated|delimiter"):
        json.loads(answer.text)


async def test_text_that_the_schema_dictates_arrives_unchanged(stub: InferenceServiceStub) -> None:
    schema = {
        "type": "object",
        "properties": {
            "text": {"type": "string", "enum": [RUSSIAN]},
            "page": {"type": "integer", "enum": [7]},
        },
        "required": ["text", "page"],
        "additionalProperties": False,
    }
    request = question(schema=json.dumps(schema))
    answer = await collected(stub.Generate(request, timeout=PATIENCE))
    assert answer.summary.finish_reason == pb.FINISH_REASON_STOP
    assert json.loads(answer.text) == {"text": RUSSIAN, "page": 7}
    assert len(answer.deltas) >= 10


async def test_no_thinking_reaches_the_caller(
    stub: InferenceServiceStub, generator_server: VllmServer
) -> None:
    body = {
        "model": MODEL,
        "messages": [{"role": "user", "content": QUESTION}],
        "max_tokens": 8,
        "temperature": 0.1,
    }
    async with httpx2.AsyncClient(base_url=generator_server.url, timeout=PATIENCE) as client:
        thinking = (await client.post("/v1/chat/completions", json=body)).json()
    # The model does think unless told not to: what follows shows something.
    assert "<think>" in thinking["choices"][0]["message"]["content"]
    plain = await collected(stub.Generate(question(max_tokens=40), timeout=PATIENCE))
    structured = await collected(stub.Generate(question(schema=ANSWER_SCHEMA_JSON), timeout=PATIENCE))
    for answer in (plain, structured):
        assert "think>" not in answer.text
    # Not filtered out of the stream but not written: every token that was counted arrived.
    assert plain.summary.completion_tokens == 40
    assert plain.text.lstrip().startswith("Доза")


async def test_eight_generations_at_once_all_finish(stub: InferenceServiceStub) -> None:
    calls = [stub.Generate(question(f"{QUESTION} {i}", max_tokens=30), timeout=PATIENCE) for i in range(8)]
    answers = await asyncio.gather(*map(collected, calls))
    for answer in answers:
        assert answer.summary.completion_tokens == 30
        assert "Доза" in answer.text


async def test_more_than_there_are_places_wait_and_beyond_are_shed(generator_server: VllmServer) -> None:
    async with inference_service(generators=[adapter(generator_server, concurrent=1)]) as stub:
        calls = [stub.Generate(question(max_tokens=20), timeout=PATIENCE) for _ in range(12)]
        outcomes = await asyncio.gather(*map(collected, calls), return_exceptions=True)
        refusals = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
        # One place, eight waiting.
        assert len(refusals) == 3
        assert {refusal.code().name for refusal in refusals} == {"RESOURCE_EXHAUSTED"}  # type: ignore[attr-defined]


async def test_an_unknown_model_is_refused_here(stub: InferenceServiceStub) -> None:
    error = await refused(stub.Generate(question(model="gpt"), timeout=PATIENCE))
    assert isinstance(error, InvalidInput)
    assert (error.reason, error.field) == ("UNKNOWN_MODEL", "model")
    assert MODEL in error.message


async def test_a_model_that_the_server_does_not_serve_is_named_as_a_matter_of_settings(
    generator_server: VllmServer,
) -> None:
    generator = adapter(generator_server, upstream="qwen3-235b")
    async with inference_service(generators=[generator]) as stub:
        error = await refused(stub.Generate(question(), timeout=PATIENCE))
        assert isinstance(error, Unavailable)
        assert "upstream model" in error.message
        with pytest.raises(Unavailable, match="upstream model"):
            await generator.check()


@pytest.mark.parametrize(
    "content", ["Доза КТ Петрова " * 1000, "dose " * 9000, "\u4e2d" * 5000], ids=["ru", "en", "zh"]
)
async def test_a_prompt_longer_than_the_context_is_the_callers_to_change(
    stub: InferenceServiceStub, generator_server: VllmServer, content: str
) -> None:
    error = await refused(stub.Generate(question(content), timeout=PATIENCE))
    assert isinstance(error, InvalidInput)
    assert (error.reason, error.field) == ("TEXT_TOO_LONG", "messages")
    assert not any(word in error.message for word in content.split())
    await generator_server.wait_idle()


async def test_an_answer_that_finds_the_window_full_says_that_it_was_cut(
    generator_server: VllmServer,
) -> None:
    # Prompt and answer fit each by itself, not together: vLLM then generates what is left of the window.
    async with inference_service(generators=[adapter(generator_server, max_tokens=4000)]) as stub:
        answer = await collected(stub.Generate(question("доза " * 3900), timeout=PATIENCE))
    assert answer.summary.finish_reason == pb.FINISH_REASON_LENGTH
    assert answer.summary.prompt_tokens + answer.summary.completion_tokens == WINDOW
    assert 0 < answer.summary.completion_tokens < 4000


@pytest.mark.parametrize("schema", ["[1]", "{", '{"minimum": NaN}'])
async def test_a_schema_that_is_no_json_object_is_refused_here(
    stub: InferenceServiceStub, schema: str
) -> None:
    error = await refused(stub.Generate(question(schema=schema), timeout=PATIENCE))
    assert isinstance(error, InvalidInput)
    assert error.field == "json_schema"


@pytest.mark.parametrize("schema", ['{"type": "objekt"}', '{"type": "array", "items": {"$ref": "#/nope"}}'])
async def test_a_schema_that_the_server_cannot_use_gets_a_clear_status(
    stub: InferenceServiceStub, generator_server: VllmServer, schema: str
) -> None:
    # vLLM says so inside of a stream that began with status 200.
    error = await refused(stub.Generate(question(schema=schema), timeout=PATIENCE))
    assert isinstance(error, InvalidInput)
    assert error.field == "json_schema"
    assert not any(word in error.message for word in ("objekt", "nope"))
    await generator_server.wait_idle()


async def test_check_asks_the_model_once_and_then_whether_it_is_served(generator_server: VllmServer) -> None:
    generator = adapter(generator_server)
    try:
        await generator.check()
        await generator.check()
        assert generator.description.id == MODEL
    finally:
        await generator.close()
    await generator_server.wait_idle()
