"""Composition root of the inference service."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from inference_svc.embedders.embedder import Embedder
from inference_svc.embedders.lanes import EncoderLanes
from inference_svc.embedders.onnx_e5.embedder import MODEL_ID, OnnxE5Embedder
from inference_svc.generators.generator import Generator
from inference_svc.generators.quoting import QuotingGenerator
from inference_svc.models import Models
from inference_svc.service import InferenceServicer
from inference_svc.settings import EmbedderSettings, GeneratorSettings, InferenceSettings
from radref.api.inference.v1.inference_pb2_grpc import add_InferenceServiceServicer_to_server
from radref.errors import Overloaded
from radref.service.health import Component
from radref.service.metrics import MODEL_QUEUE_SECONDS
from radref.service.runtime import App, Servicer, run_service

SERVICE_NAME = "radref.api.inference.v1.InferenceService"


async def compose(settings: InferenceSettings) -> App:
    """The service with its models loaded, the embedder converted first where need be."""
    chosen = settings.embedder
    lanes = EncoderLanes(
        question_tokens=chosen.max_waiting_question_tokens,
        document_tokens=chosen.max_waiting_document_tokens,
        observe_wait=MODEL_QUEUE_SECONDS.labels(model=MODEL_ID).observe,
    )
    embedder = await asyncio.to_thread(_embedder, chosen, lanes)
    models = Models([embedder], [], [_generator(settings.generator, embedder)])
    servicer = Servicer(add_InferenceServiceServicer_to_server, InferenceServicer(models), SERVICE_NAME)

    async def answers() -> None:
        with suppress(Overloaded):  # busy is up
            await embedder.embed_queries(["readiness"])

    return App(services=[servicer], components=[Component("embedder", answers)], closers=[embedder.close])


def _embedder(settings: EmbedderSettings, lanes: EncoderLanes) -> OnnxE5Embedder:
    return OnnxE5Embedder.load(
        settings.cache_dir.expanduser(),
        settings.weights_path,
        threads=settings.threads,
        spinning=settings.spinning,
        batch_tokens=settings.batch_tokens,
        lanes=lanes,
    )


def _generator(settings: GeneratorSettings, embedder: Embedder) -> Generator:
    match settings.backend:
        case "extractive":
            return QuotingGenerator(embedder)


def main() -> None:
    run_service("inference", InferenceSettings, compose)


if __name__ == "__main__":
    main()
