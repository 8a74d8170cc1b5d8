"""InferenceService over gRPC: messages to calls and back, nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing

import grpc

from inference_svc import limits, messages
from inference_svc.models import Models, embedder_descriptions, pick
from radref.api.inference.v1 import inference_pb2, inference_pb2_grpc
from radref.errors import InvalidInput, Unimplemented


class InferenceServicer(inference_pb2_grpc.InferenceServiceServicer):
    """The servicer; errors are RadrefErrors, which the service kit maps."""

    def __init__(self, models: Models) -> None:
        self._models = models

    async def Embed(  # noqa: N802
        self,
        request: inference_pb2.EmbedRequest,
        context: grpc.aio.ServicerContext[inference_pb2.EmbedRequest, inference_pb2.EmbedResponse],
    ) -> inference_pb2.EmbedResponse:
        embedder = pick(self._models.embedders, request.model)
        kind = request.WhichOneof("input")
        if kind == "queries":
            texts = list(request.queries.texts)
            limits.check_texts(texts, limits.MAX_TEXTS, limits.MAX_QUESTION_CHARACTERS, "queries.texts")
            return messages.embedded_texts(await embedder.embed_queries(texts))
        if kind == "documents":
            texts = list(request.documents.texts)
            limits.check_texts(texts, limits.MAX_TEXTS, limits.MAX_DOCUMENT_CHARACTERS, "documents.texts")
            return messages.embedded_texts(await embedder.embed_documents(texts))
        if kind == "spans":
            spanned = messages.spanned_texts(request.spans, embedder.description.dimension)
            found = await embedder.embed_spans(spanned)
            # Tens of thousands of vectors take a while to pack; the event loop has others to serve.
            return await asyncio.to_thread(messages.embedded_spans, found)
        raise InvalidInput("one of queries, documents or spans must be set", field="input")

    async def Tokenize(  # noqa: N802
        self,
        request: inference_pb2.TokenizeRequest,
        context: grpc.aio.ServicerContext[inference_pb2.TokenizeRequest, inference_pb2.TokenizeResponse],
    ) -> inference_pb2.TokenizeResponse:
        embedder = pick(self._models.embedders, request.model)
        texts = list(request.texts)
        limits.check_tokenize(texts, want_offsets=request.want_offsets)
        found = await embedder.tokenize(texts, want_offsets=request.want_offsets)
        overhead = embedder.description.document_overhead
        return await asyncio.to_thread(messages.tokenized_texts, found, overhead)

    async def Rerank(  # noqa: N802
        self,
        request: inference_pb2.RerankRequest,
        context: grpc.aio.ServicerContext[inference_pb2.RerankRequest, inference_pb2.RerankResponse],
    ) -> inference_pb2.RerankResponse:
        if not self._models.rerankers:
            raise Unimplemented("no reranker is configured")
        reranker = pick(self._models.rerankers, request.model)
        documents = list(request.documents)
        limits.check_text(request.query, limits.MAX_QUESTION_CHARACTERS, "query")
        limits.check_texts(documents, limits.MAX_TEXTS, limits.MAX_DOCUMENT_CHARACTERS, "documents")
        return messages.reranked(await reranker.rerank(request.query, documents))

    async def Generate(  # noqa: N802
        self,
        request: inference_pb2.GenerateRequest,
        context: grpc.aio.ServicerContext[inference_pb2.GenerateRequest, inference_pb2.GenerateResponse],
    ) -> AsyncIterator[inference_pb2.GenerateResponse]:
        generator = pick(self._models.generators, request.model)
        pieces = generator.generate(messages.generation_input(request))
        async with aclosing(pieces):
            async for piece in pieces:
                yield messages.generated(piece, generator.description)

    async def Describe(  # noqa: N802
        self,
        request: inference_pb2.DescribeRequest,
        context: grpc.aio.ServicerContext[inference_pb2.DescribeRequest, inference_pb2.DescribeResponse],
    ) -> inference_pb2.DescribeResponse:
        return inference_pb2.DescribeResponse(
            models=[
                *map(messages.described_embedder, embedder_descriptions(self._models.embedders)),
                *(messages.described_reranker(r.description) for r in self._models.rerankers),
                *(messages.described_generator(g.description) for g in self._models.generators),
            ]
        )
