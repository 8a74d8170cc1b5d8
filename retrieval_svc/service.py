"""The gRPC servicers of the retrieval service: messages to calls and back, nothing else."""

from __future__ import annotations

from collections.abc import AsyncIterator

import grpc

from radref.api.retrieval.v1 import index_pb2, index_pb2_grpc, retrieval_pb2, retrieval_pb2_grpc
from radref.errors import InvalidInput
from retrieval_svc import mapping
from retrieval_svc.catalogue import Catalogue
from retrieval_svc.index import Index
from retrieval_svc.retrieve import Retriever
from retrieval_svc.staging import Batch
from retrieval_svc.store.protocol import VectorStore


class RetrievalServicer(retrieval_pb2_grpc.RetrievalServiceServicer):
    """retrieval.v1.RetrievalService."""

    def __init__(self, retriever: Retriever) -> None:
        self._retriever = retriever

    async def Retrieve(  # noqa: N802 - named by the proto
        self, request: retrieval_pb2.RetrieveRequest, context: grpc.aio.ServicerContext
    ) -> retrieval_pb2.RetrieveResponse:
        retrieval = await self._retriever.retrieve(mapping.query_from(request))
        return mapping.retrieve_response(retrieval, want_candidates=request.want_candidates)


class IndexServicer(index_pb2_grpc.IndexServiceServicer):
    """retrieval.v1.IndexService."""

    def __init__(self, index: Index, catalogue: Catalogue, store: VectorStore) -> None:
        self._index = index
        self._catalogue = catalogue
        self._store = store

    async def StageDocument(  # noqa: N802 - named by the proto
        self,
        request_iterator: AsyncIterator[index_pb2.StageDocumentRequest],
        context: grpc.aio.ServicerContext,
    ) -> index_pb2.StageDocumentResponse:
        requests = aiter(request_iterator)
        first = await anext(requests, None)
        if first is None or first.WhichOneof("part") != "header":
            raise InvalidInput("the first message must be the header", reason="STREAM_PROTOCOL")
        counts = await self._index.stage(mapping.header_from(first.header), _batches(requests))
        return index_pb2.StageDocumentResponse(parents=counts.parents, children=counts.children)

    async def ActivateVersion(  # noqa: N802 - named by the proto
        self, request: index_pb2.ActivateVersionRequest, context: grpc.aio.ServicerContext
    ) -> index_pb2.ActivateVersionResponse:
        previous = await self._index.activate(request.document_id, request.version)
        return index_pb2.ActivateVersionResponse(previous_version=previous)

    async def WithdrawDocument(  # noqa: N802 - named by the proto
        self, request: index_pb2.WithdrawDocumentRequest, context: grpc.aio.ServicerContext
    ) -> index_pb2.WithdrawDocumentResponse:
        previous = await self._index.withdraw(request.document_id)
        return index_pb2.WithdrawDocumentResponse(previous_version=previous)

    async def GetStats(  # noqa: N802 - named by the proto
        self, request: index_pb2.GetStatsRequest, context: grpc.aio.ServicerContext
    ) -> index_pb2.GetStatsResponse:
        counts = await self._index.counts()
        return mapping.stats_response(
            counts, self._catalogue.active_documents(), self._catalogue.snapshot, self._store.identity
        )


async def _batches(requests: AsyncIterator[index_pb2.StageDocumentRequest]) -> AsyncIterator[Batch]:
    async for request in requests:
        if request.WhichOneof("part") != "batch":
            raise InvalidInput("only batches may follow the header", reason="STREAM_PROTOCOL")
        yield mapping.batch_from(request.batch)
