"""gRPC client of search: what the functional check asks."""

from __future__ import annotations

from collections.abc import Sequence

import grpc

from radref.api.common.v1 import documents_pb2
from radref.api.retrieval.v1 import retrieval_pb2, retrieval_pb2_grpc
from radref.service.status import error_from_rpc


class RetrievalClient:
    """`ingest_svc.functional_check.Search` over gRPC."""

    def __init__(self, channel: grpc.aio.Channel, *, timeout: float) -> None:
        """
        Args:
            timeout: seconds of one search, > 0.
        """
        self._stub = retrieval_pb2_grpc.RetrievalServiceStub(channel)
        self._timeout = timeout

    async def find_documents(self, query: str, *, top: int, preview: tuple[str, int] | None) -> Sequence[str]:
        """Document ids of the first `top` passages, those that hold the same text included.

        Raises:
            RadrefError: what the retrieval service said.
        """
        request = retrieval_pb2.RetrieveRequest(query=query, limits=documents_pb2.SearchLimits(parents=top))
        if preview is not None:
            request.preview.document_id, request.preview.version = preview
        try:
            response = await self._stub.Retrieve(request, timeout=self._timeout)
        except grpc.aio.AioRpcError as exc:
            raise error_from_rpc(exc, backend="retrieval") from exc
        return [
            document_id
            for parent in response.parents
            for document_id in (parent.passage.document_id, *parent.duplicate_document_ids)
        ]
