"""Generations of the index over gRPC."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import TypeVar

import grpc

from ingest_svc.clients import IndexClient, Timeouts
from ingest_svc.indexed_version import IndexedVersion
from ingest_svc.jobs.ports import StagedDocument
from radref.api.retrieval.v1 import index_pb2, index_pb2_grpc
from radref.service.status import error_from_rpc

R = TypeVar("R")


class GenerationIndexClient:
    """`ingest_svc.reembedding.ports.GenerationIndex` over gRPC."""

    def __init__(self, channel: grpc.aio.Channel, timeouts: Timeouts) -> None:
        self._stub = index_pb2_grpc.IndexServiceStub(channel)
        self._staging = IndexClient(channel, timeouts)
        self._timeouts = timeouts

    async def fingerprints(self) -> tuple[str, str]:
        stats = await _answer(self._stub.GetStats(index_pb2.GetStatsRequest(), timeout=self._timeouts.short))
        return stats.embedder_fingerprint, stats.building_fingerprint

    async def begin(self, fingerprint: str) -> None:
        request = index_pb2.BeginGenerationRequest(embedder_fingerprint=fingerprint)
        await _answer(self._stub.BeginGeneration(request, timeout=self._timeouts.short))

    async def versions(self, fingerprint: str) -> Sequence[IndexedVersion]:
        request = index_pb2.ListVersionsRequest(embedder_fingerprint=fingerprint)
        try:
            return [
                _record(one) async for one in self._stub.ListVersions(request, timeout=self._timeouts.stage)
            ]
        except grpc.aio.AioRpcError as exc:
            raise error_from_rpc(exc, backend="retrieval") from exc

    async def stage(self, document: StagedDocument) -> None:
        await self._staging.stage(document)

    async def switch(self, fingerprint: str) -> str:
        request = index_pb2.SwitchGenerationRequest(embedder_fingerprint=fingerprint)
        # It writes a record a document before the one that switches.
        response = await _answer(self._stub.SwitchGeneration(request, timeout=self._timeouts.stage))
        return str(response.previous_fingerprint)

    async def drop(self, fingerprint: str) -> None:
        request = index_pb2.DropGenerationRequest(embedder_fingerprint=fingerprint)
        await _answer(self._stub.DropGeneration(request, timeout=self._timeouts.short))


def _record(one: index_pb2.ListVersionsResponse) -> IndexedVersion:
    return IndexedVersion(
        document_id=one.document_id,
        version=one.version,
        active=one.active,
        parents_staged=one.parents_staged,
        children_staged=one.children_staged,
        parents_stored=one.parents_stored,
        children_stored=one.children_stored,
    )


async def _answer(call: Awaitable[R]) -> R:
    try:
        return await call
    except grpc.aio.AioRpcError as exc:
        raise error_from_rpc(exc, backend="retrieval") from exc
