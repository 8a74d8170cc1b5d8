"""gateway.v1.GatewayService: maps messages to calls; no logic here."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import NoReturn, TypeAlias

import grpc

from gateway import messages
from gateway.counting import count
from gateway.pipeline import Pipeline
from gateway.ports import PassageKeeping
from gateway.sources import accepted_citation_id
from radref.api.gateway.v1 import consult_pb2, gateway_pb2, gateway_pb2_grpc
from radref.errors import Unimplemented
from radref.service.context import current_call

Context: TypeAlias = grpc.aio.ServicerContext


class GatewayService(gateway_pb2_grpc.GatewayServiceServicer):
    """The user-facing API."""

    def __init__(self, pipeline: Pipeline, passages: PassageKeeping) -> None:
        self._pipeline = pipeline
        self._passages = passages

    async def Search(  # noqa: N802
        self, request: gateway_pb2.SearchRequest, context: Context
    ) -> gateway_pb2.SearchResponse:
        found = await self._pipeline.search(messages.search_query_from(request))
        return gateway_pb2.SearchResponse(
            query=request.query,
            ranked_parents=messages.ranked_parents_to(found.parents),
            candidates=messages.candidates_to(found.candidates),
            notices=messages.notices_to(found.notices),
            timings=messages.timings_to(found.timings),
            request_id=_request_id(),
            versions=messages.versions_to(found.versions),
            signals=messages.signals_to(found.signals),
        )

    async def Prompt(  # noqa: N802
        self, request: gateway_pb2.PromptRequest, context: Context
    ) -> gateway_pb2.PromptResponse:
        result = await self._pipeline.prompt(request.query, messages.filters_from(request.filters))
        return gateway_pb2.PromptResponse(
            query=request.query,
            prompt=messages.prompt_to(result.messages),
            ranked_parents=messages.ranked_parents_to(result.parents),
            notices=messages.notices_to(result.notices),
            timings=messages.timings_to(result.timings),
            request_id=_request_id(),
            versions=messages.versions_to(result.versions),
        )

    async def Generate(  # noqa: N802
        self, request: gateway_pb2.GenerateRequest, context: Context
    ) -> gateway_pb2.GenerateResponse:
        answer = await self._pipeline.answer(
            request.query, messages.filters_from(request.filters), request.model
        )
        count(answer)
        return messages.answer_to(request.query, answer, _request_id(), want_prompt=request.want_prompt)

    async def GetSource(  # noqa: N802
        self, request: gateway_pb2.GetSourceRequest, context: Context
    ) -> gateway_pb2.GetSourceResponse:
        source = await self._passages.passage(accepted_citation_id(request.citation_id))
        return messages.source_to(source)

    async def StreamGenerate(  # noqa: N802
        self, request: gateway_pb2.StreamGenerateRequest, context: Context
    ) -> AsyncIterator[gateway_pb2.StreamGenerateResponse]:
        _later("StreamGenerate", "use Generate")
        yield gateway_pb2.StreamGenerateResponse()

    async def Consult(  # noqa: N802
        self, request: consult_pb2.ConsultRequest, context: Context
    ) -> consult_pb2.ConsultResponse:
        _later("Consult", "appropriateness consults come with a later release")

    async def SubmitFeedback(  # noqa: N802
        self, request: gateway_pb2.SubmitFeedbackRequest, context: Context
    ) -> gateway_pb2.SubmitFeedbackResponse:
        _later("SubmitFeedback", "feedback is not stored yet")

    async def QueryAudit(  # noqa: N802
        self, request: gateway_pb2.QueryAuditRequest, context: Context
    ) -> gateway_pb2.QueryAuditResponse:
        _later("QueryAudit", "requests are not audited yet")


def _later(method: str, hint: str) -> NoReturn:
    raise Unimplemented(f"{method} is not in this release: {hint}")


def _request_id() -> str:
    call = current_call()
    return call.request_id if call else ""
