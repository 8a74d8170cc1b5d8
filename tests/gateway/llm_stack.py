"""Gateway and inference service over gRPC in one process, with a scripted search and a given generator."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import grpc

from gateway.audit.note import Note
from gateway.clients.inference import InferenceClient
from gateway.desk import Desk
from gateway.gate import GateThresholds
from gateway.model import Source
from gateway.pipeline import Pipeline, PipelineLimits
from gateway.service import GatewayService
from gateway.validation import ValidationPolicy
from inference_svc.generators.openai_compatible import OpenAIGenerator
from inference_svc.models import Models
from inference_svc.service import InferenceServicer
from radref.api.gateway.v1 import gateway_pb2_grpc
from radref.api.inference.v1 import inference_pb2_grpc
from radref.errors import NotFound
from radref.service.admission import Admission
from radref.service.channels import open_channel
from radref.service.interceptors import interceptors
from tests.gateway.test_pipeline import FINGERPRINT, STRONG, Reranking, Searching

MODEL = "qwen"


class NoPassages:
    async def passage(self, citation_id: str) -> Source:
        raise NotFound("there is no such passage", reason="UNKNOWN_CITATION")


class NoTrail:
    """Keeps nothing; the real one has tests of its own."""

    @asynccontextmanager
    async def recorded(self, method: str, question: str, actor: str) -> AsyncIterator[Note]:
        yield Note()


@dataclass(frozen=True)
class LlmStack:
    """A gateway whose generator is the given one.

    Attributes:
        stub: of the gateway, over a real channel.
    """

    stub: gateway_pb2_grpc.GatewayServiceStub


def _server() -> grpc.aio.Server:
    return grpc.aio.server(
        interceptors=interceptors(
            Admission(16, 16), require_deadline=True, long_lived=frozenset(), draining=asyncio.Event()
        )
    )


@asynccontextmanager
async def llm_stack(
    generator: OpenAIGenerator, *, max_answer_tokens: int = 512, generation_parents: int = 5
) -> AsyncIterator[LlmStack]:
    inference = _server()
    models = Models(embedders=[], rerankers=[], generators=[generator])
    inference_pb2_grpc.add_InferenceServiceServicer_to_server(InferenceServicer(models), inference)
    inference_port = inference.add_insecure_port("127.0.0.1:0")
    await inference.start()
    channel = open_channel(f"127.0.0.1:{inference_port}")
    pipeline = Pipeline(
        searching=Searching(STRONG),
        reranking=Reranking(),
        generating=InferenceClient(channel),
        gate=GateThresholds(embedder_fingerprint=FINGERPRINT),
        policy=ValidationPolicy(),
        limits=PipelineLimits(
            max_query_characters=1000,
            generation_parents=generation_parents,
            max_prompt_tokens=8192,
            max_answer_tokens=max_answer_tokens,
            models=(generator.id,),
            rerank=False,
        ),
    )
    gateway = _server()
    gateway_pb2_grpc.add_GatewayServiceServicer_to_server(
        GatewayService(Desk(pipeline, None, NoPassages(), NoTrail(), None)),  # type: ignore[arg-type]
        gateway,
    )
    port = gateway.add_insecure_port("127.0.0.1:0")
    await gateway.start()
    try:
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as user:
            yield LlmStack(gateway_pb2_grpc.GatewayServiceStub(user))
    finally:
        await gateway.stop(None)
        await channel.close()
        await inference.stop(None)
        await generator.close()
