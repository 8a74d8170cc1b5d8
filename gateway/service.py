"""gateway.v1.GatewayService: maps messages to calls; no logic here."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import TypeAlias

import grpc

from gateway import answer_messages, messages
from gateway.audit import messages as audit_messages
from gateway.audit.asker import asker
from gateway.consult import messages as consult_messages
from gateway.desk import Desk
from radref.api.gateway.v1 import consult_pb2, gateway_pb2, gateway_pb2_grpc
from radref.service.context import current_call

Context: TypeAlias = grpc.aio.ServicerContext


class GatewayService(gateway_pb2_grpc.GatewayServiceServicer):
    """The user-facing API."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def Search(  # noqa: N802
        self, request: gateway_pb2.SearchRequest, context: Context
    ) -> gateway_pb2.SearchResponse:
        query = messages.search_query_from(request)
        found = await self._desk.search(query, actor=asker(context))
        return gateway_pb2.SearchResponse(
            query=request.query,
            ranked_parents=messages.ranked_parents_to(found.parents),
            candidates=messages.candidates_to(found.candidates),
            notices=answer_messages.notices_to(found.notices),
            timings=answer_messages.timings_to(found.timings),
            request_id=_request_id(),
            versions=answer_messages.versions_to(found.versions),
            signals=messages.signals_to(found.signals),
        )

    async def Prompt(  # noqa: N802
        self, request: gateway_pb2.PromptRequest, context: Context
    ) -> gateway_pb2.PromptResponse:
        filters = messages.filters_from(request.filters)
        result = await self._desk.prompt(request.query, filters, actor=asker(context))
        return gateway_pb2.PromptResponse(
            query=request.query,
            prompt=answer_messages.prompt_to(result.messages),
            ranked_parents=messages.ranked_parents_to(result.parents),
            notices=answer_messages.notices_to(result.notices),
            timings=answer_messages.timings_to(result.timings),
            request_id=_request_id(),
            versions=answer_messages.versions_to(result.versions),
        )

    async def Generate(  # noqa: N802
        self, request: gateway_pb2.GenerateRequest, context: Context
    ) -> gateway_pb2.GenerateResponse:
        filters = messages.filters_from(request.filters)
        answer = await self._desk.answer(request.query, filters, request.model, actor=asker(context))
        return answer_messages.answer_to(
            request.query, answer, _request_id(), want_prompt=request.want_prompt
        )

    async def StreamGenerate(  # noqa: N802
        self, request: gateway_pb2.StreamGenerateRequest, context: Context
    ) -> AsyncIterator[gateway_pb2.StreamGenerateResponse]:
        filters = messages.filters_from(request.filters)
        stream = self._desk.answer_stream(request.query, filters, request.model, actor=asker(context))
        async with aclosing(stream) as events:
            async for event in events:
                yield answer_messages.answer_event_to(event, _request_id())

    async def Consult(  # noqa: N802
        self, request: consult_pb2.ConsultRequest, context: Context
    ) -> consult_pb2.ConsultResponse:
        result = await self._desk.consult(request.scenario, actor=asker(context))
        return consult_messages.consultation_to(result, _request_id())

    async def GetSource(  # noqa: N802
        self, request: gateway_pb2.GetSourceRequest, context: Context
    ) -> gateway_pb2.GetSourceResponse:
        return messages.source_to(await self._desk.source(request.citation_id))

    async def SubmitFeedback(  # noqa: N802
        self, request: gateway_pb2.SubmitFeedbackRequest, context: Context
    ) -> gateway_pb2.SubmitFeedbackResponse:
        feedback = audit_messages.feedback_from(request)
        feedback_id = await self._desk.submit_feedback(feedback, actor=asker(context))
        return gateway_pb2.SubmitFeedbackResponse(feedback_id=feedback_id)

    async def QueryAudit(  # noqa: N802
        self, request: gateway_pb2.QueryAuditRequest, context: Context
    ) -> gateway_pb2.QueryAuditResponse:
        wanted = audit_messages.audit_filter_from(request)
        page = await self._desk.query_audit(wanted, size=request.page_size, token=request.page_token)
        return audit_messages.audit_page_to(page)

    async def ListFeedback(  # noqa: N802
        self, request: gateway_pb2.ListFeedbackRequest, context: Context
    ) -> gateway_pb2.ListFeedbackResponse:
        wanted = audit_messages.feedback_filter_from(request)
        page = await self._desk.list_feedback(wanted, size=request.page_size, token=request.page_token)
        return audit_messages.feedback_page_to(page)


def _request_id() -> str:
    call = current_call()
    return call.request_id if call else ""
