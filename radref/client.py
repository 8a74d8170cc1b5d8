"""Async client for integrators: typed messages in and out, errors of `radref.errors`.

async with RadrefClient(gateway="127.0.0.1:7100", ingest="127.0.0.1:7103") as client:
    answer = await client.generate("What is the annual eye lens dose limit for staff?")
"""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Self

from radref import rpc
from radref.api.common.v1 import documents_pb2
from radref.api.gateway.v1 import gateway_pb2, gateway_pb2_grpc
from radref.knowledge_base import KnowledgeBase
from radref.service.channels import open_channel

# Deadlines of DESIGN section 8 with room for a busy CPU-only site.
ANSWER_TIMEOUT_SECONDS = 60.0
LOOKUP_TIMEOUT_SECONDS = 15.0


class RadrefClient:
    """A connection to one radref.

    Args:
        gateway: host:port of the gateway.
        ingest: host:port of the ingest service; needed for documents only.
        actor: who changes documents, for the audit trail, 1-200 printable characters; empty = "local".

    Attributes:
        kb: the documents: uploads, jobs, reviews, versions, upkeep, audit trail.

    Every method raises a RadrefError: Unavailable when the service does not answer, DeadlineExceeded when
    it takes too long, InvalidInput and NotFound with the reason the service gave.
    """

    def __init__(
        self, *, gateway: str = "127.0.0.1:7100", ingest: str = "127.0.0.1:7103", actor: str = ""
    ) -> None:
        self._gateway_channel = open_channel(gateway)
        self._ingest_channel = open_channel(ingest)
        self._gateway = gateway_pb2_grpc.GatewayServiceStub(self._gateway_channel)
        self.kb = KnowledgeBase(self._ingest_channel, actor=actor)
        # The daily ones without the detour.
        self.submit_file = self.kb.submit_file
        self.parse_file = self.kb.parse_file
        self.watch_job = self.kb.watch_job
        self.retry_job = self.kb.retry_job
        self.list_documents = self.kb.list_documents
        self.withdraw_document = self.kb.withdraw_document

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        await self._gateway_channel.close()
        await self._ingest_channel.close()

    async def search(
        self,
        query: str,
        *,
        legs: Sequence[documents_pb2.SearchLeg.ValueType] = (),
        rerank: gateway_pb2.RerankMode.ValueType = gateway_pb2.RERANK_MODE_UNSPECIFIED,
        limits: documents_pb2.SearchLimits | None = None,
        filters: documents_pb2.SearchFilters | None = None,
        want_candidates: bool = False,
        timeout: float = LOOKUP_TIMEOUT_SECONDS,
    ) -> gateway_pb2.SearchResponse:
        """Ranked passages. `timeout` in seconds."""
        request = gateway_pb2.SearchRequest(
            query=query,
            legs=legs,
            rerank=rerank,
            limits=limits,
            filters=filters,
            want_candidates=want_candidates,
        )
        return await rpc.call(self._gateway.Search(request, timeout=timeout), "gateway")

    async def prompt(
        self,
        query: str,
        *,
        filters: documents_pb2.SearchFilters | None = None,
        timeout: float = LOOKUP_TIMEOUT_SECONDS,
    ) -> gateway_pb2.PromptResponse:
        """The prompt that would be sent, without generating. `timeout` in seconds."""
        request = gateway_pb2.PromptRequest(query=query, filters=filters)
        return await rpc.call(self._gateway.Prompt(request, timeout=timeout), "gateway")

    async def generate(
        self,
        query: str,
        *,
        filters: documents_pb2.SearchFilters | None = None,
        model: str = "",
        want_prompt: bool = False,
        timeout: float = ANSWER_TIMEOUT_SECONDS,
    ) -> gateway_pb2.GenerateResponse:
        """A checked answer or an abstention. `timeout` in seconds."""
        request = gateway_pb2.GenerateRequest(
            query=query, filters=filters, model=model, want_prompt=want_prompt
        )
        return await rpc.call(self._gateway.Generate(request, timeout=timeout), "gateway")

    async def get_source(
        self, citation_id: str, *, timeout: float = LOOKUP_TIMEOUT_SECONDS
    ) -> gateway_pb2.GetSourceResponse:
        """The passage behind a citation. `timeout` in seconds."""
        request = gateway_pb2.GetSourceRequest(citation_id=citation_id)
        return await rpc.call(self._gateway.GetSource(request, timeout=timeout), "gateway")
