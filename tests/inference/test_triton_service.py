"""InferenceService with its models on Triton, over real gRPC on both sides: which status a caller gets."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import grpc
import numpy as np
import pytest
import pytest_asyncio
from google.rpc import error_details_pb2, status_pb2

from inference_svc.embedders.triton.embedder import TritonEmbedder
from inference_svc.models import Models
from inference_svc.rerankers.triton import TritonReranker
from inference_svc.service import InferenceServicer
from radref.api.common.v1 import documents_pb2
from radref.api.inference.v1 import inference_pb2 as pb
from radref.api.inference.v1.inference_pb2_grpc import (
    InferenceServiceStub,
    add_InferenceServiceServicer_to_server,
)
from radref.service.admission import Admission
from radref.service.channels import MAX_MESSAGE_BYTES, open_channel
from radref.service.interceptors import interceptors
from radref.service.status import STATUS_DETAILS_HEADER
from tests.inference.test_triton_embedder import embedder_of
from tests.inference.test_triton_reranker import reranker_of
from tests.inference.triton_standin import (
    Output,
    RequestError,
    Seen,
    TritonStandin,
    eventually,
    recovered,
    replaced,
    score,
)

TIMEOUT = 30.0


@pytest_asyncio.fixture
async def triton() -> AsyncIterator[TritonStandin]:
    standin = TritonStandin()
    await standin.start()
    yield standin
    await standin.stop()


@pytest_asyncio.fixture
async def models(triton: TritonStandin) -> AsyncIterator[tuple[TritonEmbedder, TritonReranker]]:
    embedder, reranker = embedder_of(triton), reranker_of(triton)
    yield embedder, reranker
    await embedder.close()
    await reranker.close()


@pytest_asyncio.fixture
async def stub(models: tuple[TritonEmbedder, TritonReranker]) -> AsyncIterator[InferenceServiceStub]:
    embedder, reranker = models
    server = grpc.aio.server(
        interceptors=interceptors(
            Admission(64, 64), require_deadline=True, long_lived=frozenset(), draining=asyncio.Event()
        ),
        options=[("grpc.max_receive_message_length", MAX_MESSAGE_BYTES)],
    )
    add_InferenceServiceServicer_to_server(InferenceServicer(Models([embedder], [reranker], [])), server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    channel = open_channel(f"127.0.0.1:{port}")
    yield InferenceServiceStub(channel)
    await channel.close()
    await server.stop(None)


def queries(*texts: str) -> pb.EmbedRequest:
    return pb.EmbedRequest(queries=pb.EmbedQueries(texts=texts))


def spans(*texts: tuple[str, list[tuple[int, int]]]) -> pb.EmbedRequest:
    return pb.EmbedRequest(
        spans=pb.EmbedSpans(
            texts=[
                pb.SpannedText(text=text, spans=[documents_pb2.Span(start=a, end=b) for a, b in pairs])
                for text, pairs in texts
            ]
        )
    )


async def failure(
    call: grpc.aio.UnaryUnaryCall,
) -> tuple[grpc.StatusCode, error_details_pb2.ErrorInfo, status_pb2.Status]:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    trailers = dict(caught.value.trailing_metadata() or ())
    status = status_pb2.Status.FromString(trailers[STATUS_DETAILS_HEADER])
    info = error_details_pb2.ErrorInfo()
    assert any(detail.Unpack(info) for detail in status.details)
    return caught.value.code(), info, status


async def test_everything_works_end_to_end(
    stub: InferenceServiceStub, models: tuple[TritonEmbedder, TritonReranker], triton: TritonStandin
) -> None:
    code, info, _ = await failure(stub.Describe(pb.DescribeRequest(), timeout=TIMEOUT))
    assert (code, info.reason) == (grpc.StatusCode.UNAVAILABLE, "NOT_READY")
    await asyncio.gather(*(model.check() for model in models))
    embedder, reranker = (await stub.Describe(pb.DescribeRequest(), timeout=TIMEOUT)).models
    assert (embedder.id, embedder.backend, embedder.dimension) == ("frida", "triton", 8)
    assert (reranker.id, reranker.backend, reranker.window) == ("qwen3_reranker", "triton", 32)

    answer = await stub.Embed(queries("доза при КТ", "chest"), timeout=TIMEOUT)
    assert answer.fingerprint == embedder.fingerprint
    vectors = np.array([text.embeddings[0].values for text in answer.texts])
    expected = [triton.vector("query", "доза при КТ"), triton.vector("query", "chest")]
    np.testing.assert_allclose(vectors, expected, atol=1e-6)

    answer = await stub.Embed(spans(("доза при КТ", [(0, 4), (5, 11)])), timeout=TIMEOUT)
    assert len(answer.texts[0].embeddings) == 2
    assert answer.texts[0].token_count == 5

    tokens = await stub.Tokenize(pb.TokenizeRequest(texts=[" доза"], want_offsets=True), timeout=TIMEOUT)
    assert tokens.overhead == 2
    assert [(o.start, o.end) for o in tokens.texts[0].offsets] == [(1, 5)]

    ranked = await stub.Rerank(pb.RerankRequest(query="доза КТ", documents=["КТ", "МРТ"]), timeout=TIMEOUT)
    assert ranked.fingerprint == reranker.fingerprint
    assert [d.score for d in ranked.documents] == [score("доза КТ", "КТ"), 0.0]


async def test_invalid_argument_names_the_text(
    stub: InferenceServiceStub, triton: TritonStandin, models: tuple[TritonEmbedder, TritonReranker]
) -> None:
    await models[0].check()

    def no_token_in(seen: Seen, outputs: list[Output]) -> None:
        if seen.inputs["TEXT"] == ["\u2800"]:
            raise RequestError("[INVALID_SPAN] this span holds no text, or only white space")

    triton.misbehaviour = no_token_in
    request = spans(("доза", [(0, 4)]), ("\u2800", [(0, 1)]))
    code, info, status = await failure(stub.Embed(request, timeout=TIMEOUT))
    assert (code, info.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_SPAN")
    bad = error_details_pb2.BadRequest()
    assert any(detail.Unpack(bad) for detail in status.details)
    assert bad.field_violations[0].field == "spans.texts[1].spans"

    too_long = pb.RerankRequest(query="слово " * 40, documents=["d"])
    code, info, status = await failure(stub.Rerank(too_long, timeout=TIMEOUT))
    assert (code, info.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "TEXT_TOO_LONG")
    assert any(detail.Unpack(bad) for detail in status.details)
    assert bad.field_violations[0].field == "query"


async def test_unavailable_and_back_again(
    stub: InferenceServiceStub, triton: TritonStandin, models: tuple[TritonEmbedder, TritonReranker]
) -> None:
    await models[0].check()
    await triton.stop()
    for call in (
        stub.Embed(queries("q"), timeout=TIMEOUT),
        stub.Embed(spans(("доза", [(0, 4)])), timeout=TIMEOUT),
        stub.Tokenize(pb.TokenizeRequest(texts=["q"]), timeout=TIMEOUT),
        stub.Rerank(pb.RerankRequest(query="q", documents=["d"]), timeout=TIMEOUT),
    ):
        code, info, _ = await failure(call)
        assert (code, info.reason) == (grpc.StatusCode.UNAVAILABLE, "BACKEND_UNAVAILABLE")
    await triton.start()
    await recovered(lambda: stub.Embed(queries("q"), timeout=TIMEOUT), grpc.aio.AioRpcError)
    await recovered(
        lambda: stub.Rerank(pb.RerankRequest(query="q", documents=["d"]), timeout=TIMEOUT),
        grpc.aio.AioRpcError,
    )


async def test_resource_exhausted_says_when_to_come_back(
    stub: InferenceServiceStub, triton: TritonStandin
) -> None:
    triton.status = (grpc.StatusCode.UNAVAILABLE, "[request id: x] Exceeds maximum queue size")
    for call in (
        stub.Embed(queries("q"), timeout=TIMEOUT),
        stub.Rerank(pb.RerankRequest(query="q", documents=["d"]), timeout=TIMEOUT),
    ):
        code, info, status = await failure(call)
        assert (code, info.reason) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "OVERLOADED")
        retry = error_details_pb2.RetryInfo()
        assert any(detail.Unpack(retry) for detail in status.details)
        assert retry.retry_delay.ToMilliseconds() > 0


async def test_deadline_exceeded_reaches_the_server(
    stub: InferenceServiceStub, triton: TritonStandin
) -> None:
    triton.held = asyncio.Event()
    calls = [
        stub.Embed(queries("q"), timeout=0.5),
        stub.Rerank(pb.RerankRequest(query="q", documents=["d"]), timeout=0.5),
    ]
    for call in calls:
        code, info, _ = await failure(call)
        assert (code, info.reason) == (grpc.StatusCode.DEADLINE_EXCEEDED, "DEADLINE")
    await eventually(lambda: triton.cancelled == 2)


async def test_internal(stub: InferenceServiceStub, triton: TritonStandin) -> None:
    triton.misbehaviour = replaced("EMBEDDING", data=np.full(8, np.nan, "<f4").tobytes())
    code, info, _ = await failure(stub.Embed(queries("q"), timeout=TIMEOUT))
    assert (code, info.reason) == (grpc.StatusCode.INTERNAL, "INTERNAL")
    assert info.metadata["backend"] == "embedding"
    triton.misbehaviour = replaced("SCORE", data=np.full(1, np.nan, "<f4").tobytes())
    code, info, _ = await failure(stub.Rerank(pb.RerankRequest(query="q", documents=["d"]), timeout=TIMEOUT))
    assert (code, info.reason) == (grpc.StatusCode.INTERNAL, "INTERNAL")
    assert info.metadata["backend"] == "reranking"


async def test_a_caller_that_goes_away_is_cancelled_at_the_server(
    stub: InferenceServiceStub, triton: TritonStandin
) -> None:
    triton.held = asyncio.Event()
    call = stub.Embed(queries(*(f"q {i}" for i in range(256))), timeout=TIMEOUT)
    await eventually(lambda: triton.running == 4)
    call.cancel()
    await eventually(lambda: triton.cancelled == 4)
