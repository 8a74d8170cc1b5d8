"""Reranking and generating over inference.v1.InferenceService."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence

import grpc

from gateway.model import GenerationEnd, Passage, PromptMessage, RankedPassage, Reranked
from radref.api.common.v1 import documents_pb2
from radref.api.inference.v1 import inference_pb2, inference_pb2_grpc
from radref.errors import Unavailable
from radref.service.status import error_from_rpc

RERANK_TIMEOUT_SECONDS = 10.0
# The longest answer a site may wait for (drain grace of the kit is longer).
GENERATE_TIMEOUT_SECONDS = 120.0

_ROLES = {"system": inference_pb2.PROMPT_ROLE_SYSTEM, "user": inference_pb2.PROMPT_ROLE_USER}


class InferenceClient:
    """Implements gateway.ports.Reranking and Generating."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self._stub = inference_pb2_grpc.InferenceServiceStub(channel)

    async def rerank(self, query: str, passages: Sequence[Passage]) -> Reranked:
        request = inference_pb2.RerankRequest(query=query, documents=[passage.text for passage in passages])
        try:
            response = await self._stub.Rerank(request, timeout=RERANK_TIMEOUT_SECONDS)
        except grpc.aio.AioRpcError as exc:
            raise error_from_rpc(exc, backend="inference") from None
        return Reranked(
            [document.score for document in response.documents],
            response.fingerprint,
            response.compute_milliseconds,
        )

    async def generate(
        self,
        *,
        model: str,
        messages: Sequence[PromptMessage],
        query: str,
        passages: Sequence[RankedPassage],
        json_schema: str,
        max_tokens: int,
    ) -> AsyncGenerator[str | GenerationEnd, None]:
        request = inference_pb2.GenerateRequest(
            model=model,
            messages=[
                inference_pb2.PromptMessage(role=_ROLES[message.role], content=message.content)
                for message in messages
            ],
            json_schema=json_schema,
            query=query,
            passages=[_grounding(ranked) for ranked in passages],
            max_tokens=max_tokens,
        )
        call = self._stub.Generate(request, timeout=GENERATE_TIMEOUT_SECONDS)
        end: GenerationEnd | None = None
        try:
            # To the very end, also behind the summary: a call that is cut there would count as cancelled.
            async for response in call:
                if response.delta:
                    yield response.delta
                if response.HasField("summary"):
                    end = _end(response.summary)
        except grpc.aio.AioRpcError as exc:
            raise error_from_rpc(exc, backend="inference") from None
        finally:
            # Whoever stops reading must not leave a model writing.
            call.cancel()
        if end is None:
            raise Unavailable(
                "the generator stopped in the middle of its answer", metadata={"backend": model}
            )
        yield end


def _end(summary: inference_pb2.GenerationSummary) -> GenerationEnd:
    return GenerationEnd(
        model=summary.model,
        fingerprint=summary.fingerprint,
        prompt_tokens=summary.prompt_tokens,
        completion_tokens=summary.completion_tokens,
        cut_off=summary.finish_reason == inference_pb2.FINISH_REASON_LENGTH,
    )


def _grounding(ranked: RankedPassage) -> inference_pb2.GroundingPassage:
    passage = ranked.passage
    return inference_pb2.GroundingPassage(
        citation_id=passage.citation_id,
        title=passage.document.title,
        section_path=passage.section_path,
        text=passage.text,
        hits=[documents_pb2.Span(start=child.start, end=child.end) for child in ranked.children],
        score=max(0.0, ranked.score),
    )
