"""Passages of every version over ingest.v1.IngestService."""

from __future__ import annotations

import grpc

from gateway.messages import source_from
from gateway.model import Source
from radref.api.ingest.v1 import ingest_pb2, ingest_pb2_grpc
from radref.service.status import error_from_rpc

TIMEOUT_SECONDS = 5.0


class IngestClient:
    """Implements gateway.ports.PassageKeeping."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self._stub = ingest_pb2_grpc.IngestServiceStub(channel)

    async def passage(self, citation_id: str) -> Source:
        request = ingest_pb2.GetPassageRequest(citation_id=citation_id)
        try:
            response = await self._stub.GetPassage(request, timeout=TIMEOUT_SECONDS)
        except grpc.aio.AioRpcError as exc:
            raise error_from_rpc(exc, backend="ingest") from None
        ended_at = response.ended_at if response.HasField("ended_at") else None
        return source_from(response.passage, response.state, ended_at)
