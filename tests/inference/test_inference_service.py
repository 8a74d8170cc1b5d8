"""InferenceService over a real channel, with the service kit's interceptors and a small real model."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator

import grpc
import numpy as np
import pytest
import pytest_asyncio

from inference_svc import limits
from inference_svc.embedders.onnx_e5.embedder import OnnxE5Embedder
from inference_svc.generators.quoting import QuotingGenerator
from inference_svc.models import Models
from inference_svc.service import InferenceServicer
from radref.api.common.v1 import documents_pb2
from radref.api.inference.v1 import inference_pb2 as pb
from radref.api.inference.v1.inference_pb2_grpc import (
    InferenceServiceStub,
    add_InferenceServiceServicer_to_server,
)
from radref.errors import InvalidInput, RadrefError, Unimplemented
from radref.service.admission import Admission
from radref.service.channels import MAX_MESSAGE_BYTES, open_channel
from radref.service.interceptors import interceptors
from radref.service.status import error_from_rpc

TIMEOUT = 30.0
PASSAGE = "## Dose limits\n\nThe annual limit for workers is 20 mSv. The limit for the public is 1 mSv."


@pytest_asyncio.fixture
async def stub(tiny_embedder: OnnxE5Embedder) -> AsyncIterator[InferenceServiceStub]:
    server = grpc.aio.server(
        interceptors=interceptors(
            Admission(64, 64), require_deadline=True, long_lived=frozenset(), draining=asyncio.Event()
        ),
        options=[("grpc.max_receive_message_length", MAX_MESSAGE_BYTES)],
    )
    models = Models([tiny_embedder], [], [QuotingGenerator(tiny_embedder)])
    add_InferenceServiceServicer_to_server(InferenceServicer(models), server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    channel = open_channel(f"127.0.0.1:{port}")
    yield InferenceServiceStub(channel)
    await channel.close()
    await server.stop(None)


async def refused(call: grpc.aio.Call) -> RadrefError:
    async def outcome() -> None:
        if isinstance(call, grpc.aio.UnaryStreamCall):
            async for _ in call:
                pass
        else:
            await call

    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await outcome()
    return error_from_rpc(caught.value, backend="inference")


def queries(*texts: str, model: str = "") -> pb.EmbedRequest:
    return pb.EmbedRequest(model=model, queries=pb.EmbedQueries(texts=texts))


def spans(text: str, *pairs: tuple[int, int]) -> pb.EmbedRequest:
    spanned = pb.SpannedText(text=text, spans=[documents_pb2.Span(start=a, end=b) for a, b in pairs])
    return pb.EmbedRequest(spans=pb.EmbedSpans(texts=[spanned]))


def generate(**changes: object) -> pb.GenerateRequest:
    fields: dict[str, object] = {
        "messages": [pb.PromptMessage(role=pb.PROMPT_ROLE_USER, content="What is the limit?")],
        "query": "What is the annual limit for workers?",
        "passages": [
            pb.GroundingPassage(
                citation_id="c1",
                title="Limits",
                section_path=["Dose limits"],
                text=PASSAGE,
                hits=[documents_pb2.Span(start=16, end=60)],
            )
        ],
    }
    return pb.GenerateRequest(**{**fields, **changes})  # type: ignore[arg-type]


async def test_describe_names_every_model(stub: InferenceServiceStub) -> None:
    embedder, generator = (await stub.Describe(pb.DescribeRequest(), timeout=TIMEOUT)).models
    assert (embedder.kind, generator.kind) == (pb.MODEL_KIND_EMBEDDER, pb.MODEL_KIND_GENERATOR)
    assert (embedder.dimension, embedder.window) == (64, 512)
    assert (embedder.query_prefix, embedder.document_prefix) == ("query: ", "passage: ")
    for model in (embedder, generator):
        assert len(bytes.fromhex(model.fingerprint)) == 8
    assert generator.id == "extractive"


async def test_embed_answers_each_kind_of_input(stub: InferenceServiceStub) -> None:
    fingerprint = (await stub.Describe(pb.DescribeRequest(), timeout=TIMEOUT)).models[0].fingerprint
    documents = pb.EmbedRequest(documents=pb.EmbedDocuments(texts=["доза", "chest " * 200]))
    for request in (queries("доза", "chest"), documents, spans("доза при кт", (0, 4), (5, 11))):
        response = await stub.Embed(request, timeout=TIMEOUT)
        assert response.fingerprint == fingerprint
        vectors = np.array([e.values for text in response.texts for e in text.embeddings])
        assert vectors.shape == (2, 64)
        assert np.abs(np.linalg.norm(vectors, axis=1) - 1).max() < 1e-5
        assert response.compute_milliseconds > 0
    response = await stub.Embed(documents, timeout=TIMEOUT)
    assert [text.truncated for text in response.texts] == [False, True]
    assert response.texts[1].token_count > 512


async def test_tokenize_counts_and_places(stub: InferenceServiceStub) -> None:
    request = pb.TokenizeRequest(texts=["доза кт", " "], want_offsets=True)
    response = await stub.Tokenize(request, timeout=TIMEOUT)
    overhead = (await stub.Describe(pb.DescribeRequest(), timeout=TIMEOUT)).models[0].document_overhead
    assert response.overhead == overhead
    text = response.texts[0]
    assert text.count == len(text.offsets) > 0
    assert "".join("доза кт"[o.start : o.end] for o in text.offsets).replace(" ", "") == "дозакт"
    plain = await stub.Tokenize(pb.TokenizeRequest(texts=["доза кт", " "]), timeout=TIMEOUT)
    assert [t.count for t in plain.texts] == [t.count for t in response.texts]
    assert not plain.texts[0].offsets


async def test_rerank_says_that_nothing_is_configured(stub: InferenceServiceStub) -> None:
    error = await refused(stub.Rerank(pb.RerankRequest(query="q", documents=["d"]), timeout=TIMEOUT))
    assert isinstance(error, Unimplemented)
    assert (error.reason, error.message) == ("NOT_IN_THIS_RELEASE", "no reranker is configured")


async def test_generate_streams_the_answer_and_then_one_summary(stub: InferenceServiceStub) -> None:
    responses = [response async for response in stub.Generate(generate(), timeout=TIMEOUT)]
    answer = json.loads("".join(response.delta for response in responses))
    assert set(answer) >= {"analysis", "insufficient", "statements"}
    for statement in answer["statements"]:
        assert all(citation["quote"] in PASSAGE for citation in statement["citations"])
    assert [response.HasField("summary") for response in responses] == [False] * (len(responses) - 1) + [True]
    summary = responses[-1].summary
    assert (summary.model, summary.finish_reason) == ("extractive", pb.FINISH_REASON_STOP)


@pytest.mark.parametrize(
    ("request_", "reason", "field"),
    [
        (queries(), "OUT_OF_RANGE", "queries.texts"),
        (queries(*["a"] * 257), "OUT_OF_RANGE", "queries.texts"),
        (queries("a", ""), "EMPTY_TEXT", "queries.texts[1]"),
        (queries("a", " \n\u00a0\u200b"), "EMPTY_TEXT", "queries.texts[1]"),
        (queries("a" * 20_001), "TEXT_TOO_LONG", "queries.texts[0]"),
        (queries("a", model="gpt"), "UNKNOWN_MODEL", "model"),
        (pb.EmbedRequest(), "INVALID_FIELD", "input"),
        (pb.EmbedRequest(documents=pb.EmbedDocuments()), "OUT_OF_RANGE", "documents.texts"),
        (
            pb.EmbedRequest(documents=pb.EmbedDocuments(texts=["d" * 200_001])),
            "TEXT_TOO_LONG",
            "documents.texts[0]",
        ),
        (pb.EmbedRequest(spans=pb.EmbedSpans()), "OUT_OF_RANGE", "spans.texts"),
        (spans("доза"), "OUT_OF_RANGE", "spans.texts[0].spans"),
        (spans("доза", (0, 5)), "INVALID_SPAN", "spans.texts[0].spans[0]"),
        (spans("доза", (0, 2), (3, 3)), "INVALID_SPAN", "spans.texts[0].spans[1]"),
        (spans("доза", (3, 2)), "INVALID_SPAN", "spans.texts[0].spans[0]"),
        (spans("а \n б", (1, 4)), "INVALID_SPAN", "spans.texts[0].spans[0]"),
        (spans("доза", *[(0, 1)] * 1001), "OUT_OF_RANGE", "spans.texts[0].spans"),
        (spans(" ", (0, 1)), "EMPTY_TEXT", "spans.texts[0].text"),
    ],
)
async def test_embed_refuses_with_reason_and_field(
    stub: InferenceServiceStub, request_: pb.EmbedRequest, reason: str, field: str
) -> None:
    error = await refused(stub.Embed(request_, timeout=TIMEOUT))
    assert isinstance(error, InvalidInput)
    assert (error.reason, error.field) == (reason, field)


@pytest.mark.parametrize(
    ("changes", "reason", "field"),
    [
        ({"messages": []}, "OUT_OF_RANGE", "messages"),
        ({"messages": [pb.PromptMessage(content="x")]}, "INVALID_FIELD", "messages[0].role"),
        ({"query": ""}, "EMPTY_TEXT", "query"),
        ({"query": "q" * 20_001}, "TEXT_TOO_LONG", "query"),
        ({"json_schema": "s" * 20_001}, "TEXT_TOO_LONG", "json_schema"),
        ({"max_tokens": 32_769}, "OUT_OF_RANGE", "max_tokens"),
        ({"model": "qwen"}, "UNKNOWN_MODEL", "model"),
        ({"passages": [pb.GroundingPassage(text="x")] * 65}, "OUT_OF_RANGE", "passages"),
        ({"passages": [pb.GroundingPassage(text="x")]}, "INVALID_FIELD", "passages[0].citation_id"),
        (
            {
                "passages": [
                    pb.GroundingPassage(citation_id="c", text="x", hits=[documents_pb2.Span(start=0, end=2)])
                ]
            },
            "INVALID_SPAN",
            "passages[0].hits",
        ),
    ],
)
async def test_generate_refuses_with_reason_and_field(
    stub: InferenceServiceStub, changes: dict[str, object], reason: str, field: str
) -> None:
    error = await refused(stub.Generate(generate(**changes), timeout=TIMEOUT))
    assert isinstance(error, InvalidInput)
    assert (error.reason, error.field) == (reason, field)


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        (pb.TokenizeRequest(), "OUT_OF_RANGE"),
        (pb.TokenizeRequest(texts=["a"] * 1025), "OUT_OF_RANGE"),
        (pb.TokenizeRequest(texts=["a", ""]), "EMPTY_TEXT"),
        (pb.TokenizeRequest(texts=["a" * 2_000_001]), "TEXT_TOO_LONG"),
        (pb.TokenizeRequest(texts=["a" * 1_500_000] * 3, want_offsets=True), "TEXT_TOO_LONG"),
        (pb.TokenizeRequest(texts=["a"], model="other"), "UNKNOWN_MODEL"),
    ],
)
async def test_tokenize_refuses_with_reason(
    stub: InferenceServiceStub, request_: pb.TokenizeRequest, reason: str
) -> None:
    assert (await refused(stub.Tokenize(request_, timeout=TIMEOUT))).reason == reason


async def test_no_text_comes_back_in_an_error(stub: InferenceServiceStub) -> None:
    secret = "Иванов Иван, 1961"
    for request in (queries(secret, ""), queries(secret * 2000), spans(secret, (0, 99))):
        error = await refused(stub.Embed(request, timeout=TIMEOUT))
        assert "Иванов" not in error.message


def test_answers_fit_into_a_message() -> None:
    assert limits.MAX_COMPONENTS * 4 < MAX_MESSAGE_BYTES
    with pytest.raises(InvalidInput) as caught:
        limits.check_answer_size(64_000, 384, "spans.texts")
    assert caught.value.reason == "OUT_OF_RANGE"
