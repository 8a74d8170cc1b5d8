"""The gRPC servicers of the retrieval service: messages to calls and back, nothing else."""

from __future__ import annotations

from collections.abc import AsyncIterator

import grpc

from radref.api.retrieval.v1 import index_pb2, index_pb2_grpc, retrieval_pb2, retrieval_pb2_grpc
from radref.errors import InvalidInput
from retrieval_svc import mapping
from retrieval_svc.generations import Generations
from retrieval_svc.retrieve import Retriever
from retrieval_svc.staging import Batch


class RetrievalServicer(retrieval_pb2_grpc.RetrievalServiceServicer):
    """retrieval.v1.RetrievalService."""

    def __init__(self, retriever: Retriever) -> None:
        self._retriever = retriever

    async def Retrieve(  # noqa: N802 - named by the proto
        self, request: retrieval_pb2.RetrieveRequest, context: grpc.aio.ServicerContext
    ) -> retrieval_pb2.RetrieveResponse:
        retrieval = await self._retriever.retrieve(mapping.query_from(request))
        return mapping.retrieve_response(retrieval)


class IndexServicer(index_pb2_grpc.IndexServiceServicer):
    """retrieval.v1.IndexService."""

    def __init__(self, generations: Generations) -> None:
        self._generations = generations

    async def StageDocument(  # noqa: N802 - named by the proto
        self,
        request_iterator: AsyncIterator[index_pb2.StageDocumentRequest],
        context: grpc.aio.ServicerContext,
    ) -> index_pb2.StageDocumentResponse:
        requests = aiter(request_iterator)
        first = await anext(requests, None)
        if first is None or first.WhichOneof("part") != "header":
            raise InvalidInput("the first message must be the header", reason="STREAM_PROTOCOL")
        counts = await self._generations.stage(mapping.header_from(first.header), _batches(requests))
        return index_pb2.StageDocumentResponse(parents=counts.parents, children=counts.children)

    async def ActivateVersion(  # noqa: N802 - named by the proto
        self, request: index_pb2.ActivateVersionRequest, context: grpc.aio.ServicerContext
    ) -> index_pb2.ActivateVersionResponse:
        previous = await self._generations.activate(request.document_id, request.version)
        return index_pb2.ActivateVersionResponse(previous_version=previous)

    async def WithdrawDocument(  # noqa: N802 - named by the proto
        self, request: index_pb2.WithdrawDocumentRequest, context: grpc.aio.ServicerContext
    ) -> index_pb2.WithdrawDocumentResponse:
        previous = await self._generations.withdraw(request.document_id)
        return index_pb2.WithdrawDocumentResponse(previous_version=previous)

    async def ListVersions(  # noqa: N802 - named by the proto
        self, request: index_pb2.ListVersionsRequest, context: grpc.aio.ServicerContext
    ) -> AsyncIterator[index_pb2.ListVersionsResponse]:
        for listed in await self._generations.versions(request.embedder_fingerprint):
            yield mapping.listed_version(listed)

    async def BeginGeneration(  # noqa: N802 - named by the proto
        self, request: index_pb2.BeginGenerationRequest, context: grpc.aio.ServicerContext
    ) -> index_pb2.BeginGenerationResponse:
        await self._generations.begin(request.embedder_fingerprint)
        return index_pb2.BeginGenerationResponse()

    async def SwitchGeneration(  # noqa: N802 - named by the proto
        self, request: index_pb2.SwitchGenerationRequest, context: grpc.aio.ServicerContext
    ) -> index_pb2.SwitchGenerationResponse:
        previous = await self._generations.switch(request.embedder_fingerprint)
        return index_pb2.SwitchGenerationResponse(previous_fingerprint=previous)

    async def DropGeneration(  # noqa: N802 - named by the proto
        self, request: index_pb2.DropGenerationRequest, context: grpc.aio.ServicerContext
    ) -> index_pb2.DropGenerationResponse:
        await self._generations.drop(request.embedder_fingerprint)
        return index_pb2.DropGenerationResponse()

    async def GetStats(  # noqa: N802 - named by the proto
        self, request: index_pb2.GetStatsRequest, context: grpc.aio.ServicerContext
    ) -> index_pb2.GetStatsResponse:
        searched = self._generations.searched
        counts = await searched.index.counts()
        return mapping.stats_response(
            counts,
            searched.catalogue.active_documents(),
            searched.catalogue.snapshot,
            searched.store.identity,
            self._generations.building_fingerprint,
        )


async def _batches(requests: AsyncIterator[index_pb2.StageDocumentRequest]) -> AsyncIterator[Batch]:
    async for request in requests:
        if request.WhichOneof("part") != "batch":
            raise InvalidInput("only batches may follow the header", reason="STREAM_PROTOCOL")
        yield mapping.batch_from(request.batch)
