"""Through gRPC, with the kit's interceptors, as the gateway and ingest see the service."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from pathlib import Path

import grpc
import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from radref.api.common.v1 import documents_pb2
from radref.api.inference.v1 import inference_pb2, inference_pb2_grpc
from radref.api.retrieval.v1 import index_pb2, index_pb2_grpc, retrieval_pb2, retrieval_pb2_grpc
from radref.errors import InvalidInput, NotFound, PreconditionFailed, RadrefError, Unavailable
from radref.service.admission import Admission
from radref.service.channels import open_channel
from radref.service.interceptors import interceptors
from radref.service.status import error_from_rpc
from retrieval_svc.inference_client import EmbedderCheck, InferenceClient
from retrieval_svc.service import IndexServicer, RetrievalServicer
from retrieval_svc.settings import RetrievalSettings
from tests.retrieval.retrieval_kit import DIMENSION, FINGERPRINT, Kit, citation_id, open_kit, vector_of

FROM = datetime(2020, 1, 1, tzinfo=UTC)


class Embedder(inference_pb2_grpc.InferenceServiceServicer):
    """The two methods that retrieval calls, with deterministic vectors; `fingerprint` by model id."""

    def __init__(self) -> None:
        self.models = {"m": FINGERPRINT}
        self.described = 0

    async def Embed(  # noqa: N802
        self, request: inference_pb2.EmbedRequest, context: grpc.aio.ServicerContext
    ) -> inference_pb2.EmbedResponse:
        vectors = [vector_of(text) for text in request.queries.texts]
        texts = [
            inference_pb2.EmbeddedText(embeddings=[inference_pb2.Embedding(values=vector)])
            for vector in vectors
        ]
        if request.model not in self.models:
            raise InvalidInput("unknown", reason="UNKNOWN_MODEL")
        return inference_pb2.EmbedResponse(fingerprint=self.models[request.model], texts=texts)

    async def Describe(  # noqa: N802
        self, request: inference_pb2.DescribeRequest, context: grpc.aio.ServicerContext
    ) -> inference_pb2.DescribeResponse:
        self.described += 1
        return inference_pb2.DescribeResponse(
            models=[
                inference_pb2.ModelDescription(
                    id=model,
                    kind=inference_pb2.MODEL_KIND_EMBEDDER,
                    fingerprint=fingerprint,
                    dimension=DIMENSION,
                )
                for model, fingerprint in self.models.items()
            ]
        )


class Service:
    def __init__(self, channel: grpc.aio.Channel, kit: Kit, inference: InferenceClient) -> None:
        self.retrieval = retrieval_pb2_grpc.RetrievalServiceStub(channel)
        self.index = index_pb2_grpc.IndexServiceStub(channel)
        self.kit = kit
        self.inference = inference


def around() -> list[grpc.aio.ServerInterceptor]:
    """The service kit's interceptors, as every service has them."""
    return list(
        interceptors(Admission(8, 8), require_deadline=True, long_lived=frozenset(), draining=asyncio.Event())
    )


async def started(server: grpc.aio.Server, stack: AsyncExitStack) -> grpc.aio.Channel:
    """Starts a server on a free port; the stack stops it. Returns a channel to it."""
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    stack.push_async_callback(server.stop, None)
    return await stack.enter_async_context(open_channel(f"127.0.0.1:{port}"))


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Service]:
    async with AsyncExitStack() as stack:
        models = grpc.aio.server(interceptors=around())
        inference_pb2_grpc.add_InferenceServiceServicer_to_server(Embedder(), models)
        inference = InferenceClient(await started(models, stack), timeout=5)

        kit = await open_kit(tmp_path / "index", embed=inference.embed_query)
        stack.push_async_callback(kit.close)
        server = grpc.aio.server(interceptors=around())
        retrieval_pb2_grpc.add_RetrievalServiceServicer_to_server(RetrievalServicer(kit.retriever), server)
        index_pb2_grpc.add_IndexServiceServicer_to_server(IndexServicer(kit.generations), server)
        yield Service(await started(server, stack), kit, inference)


Message = index_pb2.StageDocumentRequest
TEXT = "Предел дозы: 20 мЗв в год"


def messages(document: str = "d", version: int = 1, topic: str = "safety") -> list[Message]:
    start = Timestamp()
    start.FromDatetime(FROM)
    metadata = documents_pb2.DocumentMetadata(
        title="Нормы", topic=topic, language="ru", year=2009, effective_from=start, supersedes=["old"]
    )
    header = index_pb2.StageHeader(
        document_id="d",
        version=1,
        metadata=metadata,
        embedder_fingerprint=FINGERPRINT,
        parent_count=1,
        child_count=1,
    )
    identifier = citation_id("d")
    batch = index_pb2.StageBatch(
        parents=[
            index_pb2.StagedParent(
                citation_id=identifier,
                text=TEXT,
                section_path=["Глава 1"],
                pages=documents_pb2.PageRange(first=2, last=3),
            )
        ],
        children=[
            index_pb2.StagedChild(
                citation_id=identifier,
                span=documents_pb2.Span(start=0, end=len(TEXT)),
                section_path=["Глава 1"],
                vector=vector_of(TEXT),
            )
        ],
    )
    return [index_pb2.StageDocumentRequest(header=header), index_pb2.StageDocumentRequest(batch=batch)]


async def send(service: Service, requests: list[Message]) -> index_pb2.StageDocumentResponse:
    return await service.index.StageDocument(iter(requests), timeout=20)


async def failure(call: object) -> RadrefError:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call  # type: ignore[misc]
    return error_from_rpc(caught.value, backend="retrieval")


async def test_document_to_answer(service: Service) -> None:
    staged = await send(service, messages())
    assert (staged.parents, staged.children) == (1, 1)
    activated = await service.index.ActivateVersion(
        index_pb2.ActivateVersionRequest(document_id="d", version=1), timeout=20
    )
    assert activated.previous_version == 0

    request = retrieval_pb2.RetrieveRequest(query="предел дозы в год", want_candidates=True)
    response = await service.retrieval.Retrieve(request, timeout=20)
    (parent,) = response.parents
    assert parent.passage.text == TEXT
    assert parent.passage.version == 1
    assert (parent.passage.pages.first, parent.passage.pages.last) == (2, 3)
    assert list(parent.passage.section_path) == ["Глава 1"]
    assert parent.passage.metadata.effective_from.ToDatetime(UTC) == FROM
    assert list(parent.passage.metadata.supersedes) == ["old"]
    (child,) = parent.children
    assert (child.span.start, child.span.end) == (0, len(TEXT))
    assert child.HasField("dense_score")
    assert parent.dense_score == child.dense_score
    assert parent.bm25_score > 0
    assert response.candidates[0].document_id == "d"
    assert response.signals.term_coverage == 1.0
    assert response.embedder_fingerprint == FINGERPRINT
    stages = {timing.stage for timing in response.timings}
    assert {"embed", "search", "parents", "store_compute"} <= stages
    assert len(response.legs) == 6

    stats = await service.index.GetStats(index_pb2.GetStatsRequest(), timeout=20)
    assert {one.topic: (one.children, one.active_documents) for one in stats.collections} == {
        "safety": (1, 1),
        "physics": (0, 0),
        "glossary": (0, 0),
        "consult": (0, 0),
    }
    assert (stats.parents, stats.active_documents, stats.dimension) == (1, 1, DIMENSION)
    assert stats.index_version == response.index_version > 0
    assert stats.HasField("changed_at")

    withdrawn = await service.index.WithdrawDocument(
        index_pb2.WithdrawDocumentRequest(document_id="d"), timeout=20
    )
    assert withdrawn.previous_version == 1
    assert not (await service.retrieval.Retrieve(request, timeout=20)).parents


async def test_a_preview_and_what_is_in_force(service: Service) -> None:
    head, batch = messages()
    head.header.metadata.effective_until.FromDatetime(FROM)
    await send(service, [head, batch])
    preview = retrieval_pb2.PreviewedVersion(document_id="d", version=1)
    request = retrieval_pb2.RetrieveRequest(query="предел дозы", preview=preview)
    (parent,) = (await service.retrieval.Retrieve(request, timeout=20)).parents
    assert parent.passage.validity == documents_pb2.VALIDITY_EXPIRED
    assert not parent.passage.HasField("superseded_at")
    assert not parent.duplicate_document_ids
    listed = [one async for one in service.index.ListVersions(index_pb2.ListVersionsRequest(), timeout=20)]
    assert listed == [
        index_pb2.ListVersionsResponse(
            document_id="d",
            version=1,
            active=False,
            parents_staged=1,
            children_staged=1,
            parents_stored=1,
            children_stored=1,
        )
    ]
    preview.version = 2
    request = retrieval_pb2.RetrieveRequest(query="предел дозы", preview=preview)
    error = await failure(service.retrieval.Retrieve(request, timeout=20))
    assert (error.reason, error.field) == ("UNKNOWN_VERSION", "preview")


async def test_one_leg(service: Service) -> None:
    await send(service, messages())
    await service.index.ActivateVersion(
        index_pb2.ActivateVersionRequest(document_id="d", version=1), timeout=20
    )
    request = retrieval_pb2.RetrieveRequest(query="предел", legs=[documents_pb2.SEARCH_LEG_BM25])
    response = await service.retrieval.Retrieve(request, timeout=20)
    assert not response.signals.HasField("best_dense")
    assert response.parents[0].bm25_score > 0
    assert not response.parents[0].HasField("dense_score")
    assert not response.parents[0].children
    assert not response.candidates


async def test_a_filter_of_a_newer_release(service: Service) -> None:
    """It must not be passed over: the answer would be of other documents than those asked for."""
    request = retrieval_pb2.RetrieveRequest(query="dose")
    request.filters.MergeFromString(b"\xfa\x01\x03abc")
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await service.retrieval.Retrieve(request, timeout=20)
    assert caught.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    assert error_from_rpc(caught.value, backend="retrieval").reason == "UNKNOWN_FILTER"


async def test_empty_index_stats(service: Service) -> None:
    stats = await service.index.GetStats(index_pb2.GetStatsRequest(), timeout=20)
    assert stats.embedder_fingerprint == ""
    assert stats.dimension == stats.index_version == 0
    assert not stats.HasField("changed_at")


async def test_bad_calls(service: Service) -> None:
    head, batch = messages()
    for requests in ([], [batch], [head, head], [head]):
        error = await failure(send(service, requests))
        assert isinstance(error, InvalidInput)
        assert error.reason == "STREAM_PROTOCOL"
    error = await failure(send(service, messages(topic="cardiology")))
    assert (error.reason, error.field) == ("UNKNOWN_TOPIC", "header.metadata.topic")
    error = await failure(service.retrieval.Retrieve(retrieval_pb2.RetrieveRequest(query=" "), timeout=20))
    assert (error.reason, error.field) == ("EMPTY_TEXT", "query")
    request = retrieval_pb2.RetrieveRequest(query="x", legs=[documents_pb2.SEARCH_LEG_UNSPECIFIED])
    error = await failure(service.retrieval.Retrieve(request, timeout=20))
    assert (error.reason, error.field) == ("INVALID_FIELD", "legs")
    activation = index_pb2.ActivateVersionRequest(document_id="nobody", version=1)
    error = await failure(service.index.ActivateVersion(activation, timeout=20))
    assert isinstance(error, NotFound)


async def test_embedder_check(service: Service) -> None:
    await EmbedderCheck(service.inference, lambda: "")()
    await EmbedderCheck(service.inference, lambda: FINGERPRINT)()
    with pytest.raises(PreconditionFailed):
        await EmbedderCheck(service.inference, lambda: "0" * 16)()


async def test_the_model_is_chosen_by_fingerprint() -> None:
    async with AsyncExitStack() as stack:
        models, embedder = grpc.aio.server(interceptors=around()), Embedder()
        inference_pb2_grpc.add_InferenceServiceServicer_to_server(embedder, models)
        client = InferenceClient(await started(models, stack), timeout=5)
        embedder.models = {"m": FINGERPRINT, "n": "0" * 16}
        for fingerprint in (FINGERPRINT, "0" * 16, FINGERPRINT):
            assert (await client.embed_query("x", fingerprint)).fingerprint == fingerprint
        assert embedder.described == 1
        # Exchanged, renamed, gone: it is looked up again.
        embedder.models = {"m": "0" * 16, "n": FINGERPRINT}
        assert (await client.embed_query("x", FINGERPRINT)).fingerprint == FINGERPRINT
        embedder.models = {"p": FINGERPRINT}
        assert (await client.embed_query("x", FINGERPRINT)).fingerprint == FINGERPRINT
        embedder.models = {"p": "1" * 16}
        with pytest.raises(PreconditionFailed) as caught:
            await client.embed_query("x", FINGERPRINT)
        assert caught.value.reason == "MODEL_FINGERPRINT_MISMATCH"


async def test_inference_that_is_not_there() -> None:
    async with open_channel("127.0.0.1:1") as channel:
        with pytest.raises(Unavailable):
            await InferenceClient(channel, timeout=5).embed_query("x", FINGERPRINT)


def test_settings() -> None:
    settings = RetrievalSettings(profile={"name": "paper", "parents": 20})  # type: ignore[arg-type]
    profile = settings.profile.resolve()
    assert (profile.parents, profile.fill_parents, profile.per_collection) == (20, False, 15)
    assert len(settings.topics) == 7
    assert settings.collections.on_request == ("consult",)
    with pytest.raises(ValueError, match="named twice"):
        RetrievalSettings(topics=("a", "a"))
    with pytest.raises(ValueError, match="topics"):
        RetrievalSettings(topics=("../x",))


def test_setting_of_the_appropriateness_collection() -> None:
    assert RetrievalSettings().collections.appropriateness == "consult"
    assert RetrievalSettings(topics_on_request=()).collections.all == RetrievalSettings().topics
    named = RetrievalSettings(topics_on_request=("acr",), appropriateness_topic="acr")
    assert named.collections.appropriateness == "acr"
    with pytest.raises(ValueError, match="appropriateness_topic"):
        RetrievalSettings(appropriateness_topic="consults")
