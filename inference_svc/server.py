"""Composition root of the inference service."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from inference_svc.embedders.embedder import Embedder
from inference_svc.generators.generator import Generator
from inference_svc.generators.quoting import QuotingGenerator
from inference_svc.models import Models
from inference_svc.places import Places
from inference_svc.rerankers.reranker import Reranker
from inference_svc.service import InferenceServicer
from inference_svc.settings import (
    EmbedderSettings,
    ExtractiveGeneratorSettings,
    GeneratorSettings,
    InferenceSettings,
    NoRerankerSettings,
    OnnxEmbedderSettings,
    OpenAIGeneratorSettings,
    RerankerSettings,
    TritonEmbedderSettings,
    TritonRerankerSettings,
    VllmRerankerSettings,
    api_key,
)
from radref.api.inference.v1.inference_pb2_grpc import add_InferenceServiceServicer_to_server
from radref.service.health import Component
from radref.service.metrics import MODEL_COMPUTE_SECONDS, MODEL_QUEUE_SECONDS
from radref.service.runtime import App, Servicer, run_service

# Ollama and llama.cpp load a model of many gigabytes when it is asked for first.
FIRST_ANSWER_SECONDS = 300.0
SERVICE_NAME = "radref.api.inference.v1.InferenceService"


async def compose(settings: InferenceSettings) -> App:
    """The service with its models: those of this process loaded, remote ones possibly not up yet.

    Raises:
        Unavailable, Internal: a model of this process cannot be loaded; the message says why.
        ValueError: a setting that only its model can judge, e.g. an unreadable certificate.
    """
    embedder = await asyncio.to_thread(_embedder, settings.embedder)
    embedders = [embedder]
    if settings.second_embedder is not None:
        embedders.append(await asyncio.to_thread(_embedder, settings.second_embedder))
    reranker = _reranker(settings.reranker)
    generators = [_generator(each, embedder) for each in settings.generators]
    models = Models(embedders, [reranker] if reranker else [], generators)
    servicer = Servicer(add_InferenceServiceServicer_to_server, InferenceServicer(models), SERVICE_NAME)
    names = ("embedder", "second embedder")
    components = [Component(name, each.check) for name, each in zip(names, embedders, strict=False)]
    if reranker:
        components.append(Component("reranker", reranker.check))
    components += [
        Component(f"generator {generator.id}", generator.check, timeout=FIRST_ANSWER_SECONDS)
        for generator in generators
    ]
    return App(
        services=[servicer],
        components=components,
        # The extractive generator embeds: its embedder goes last.
        closers=[
            *(each.close for each in generators),
            *([reranker.close] if reranker else []),
            *(each.close for each in embedders),
        ],
    )


def _embedder(settings: EmbedderSettings) -> Embedder:
    # Backends are imported where they are chosen: an installation holds the libraries of its own ones only.
    match settings:
        case OnnxEmbedderSettings():
            return _onnx_embedder(settings)
        case TritonEmbedderSettings():
            from inference_svc.embedders.triton.embedder import TritonEmbedder

            questions, documents = settings.max_concurrent, max(8, settings.max_concurrent // 2)
            return TritonEmbedder(
                settings.target,
                model=settings.model,
                tokenizer_model=settings.tokenizer_model,
                timeout=settings.timeout_seconds,
                places=_places("embedder", settings.model, questions, settings.max_waiting),
                at_once=min(8, settings.max_concurrent),
                document_places=_places("embedder", settings.model, documents, settings.max_waiting),
                observe_compute=_compute(settings.model),
            )


def _onnx_embedder(settings: OnnxEmbedderSettings) -> Embedder:
    from inference_svc.embedders.lanes import EncoderLanes
    from inference_svc.embedders.onnx_e5.embedder import OnnxE5Embedder

    lanes = EncoderLanes(
        question_tokens=settings.max_waiting_question_tokens,
        document_tokens=settings.max_waiting_document_tokens,
        observe_wait=MODEL_QUEUE_SECONDS.labels(model=settings.id).observe,
        observe_compute=_compute(settings.id),
    )
    return OnnxE5Embedder.load(
        settings.cache_dir.expanduser(),
        settings.weights_path,
        model_dir=settings.model_dir.expanduser() if settings.model_dir else None,
        threads=settings.threads,
        spinning=settings.spinning,
        batch_tokens=settings.batch_tokens,
        lanes=lanes,
        model_id=settings.id,
    )


def _reranker(settings: RerankerSettings) -> Reranker | None:
    match settings:
        case NoRerankerSettings():
            return None
        case TritonRerankerSettings():
            from inference_svc.rerankers.triton import TritonReranker

            return TritonReranker(
                settings.target,
                model=settings.model,
                instruction=settings.instruction,
                timeout=settings.timeout_seconds,
                places=_places("reranker", settings.model, settings.max_concurrent, settings.max_waiting),
                observe_compute=_compute(settings.model),
            )
        case VllmRerankerSettings():
            from inference_svc.rerankers.vllm import Template, VllmReranker

            return VllmReranker(
                id=settings.id,
                base_url=settings.base_url,
                upstream_model=settings.model,
                instruction=settings.instruction,
                template=Template(settings.template),
                api_key=api_key(settings),
                timeout=settings.timeout_seconds,
                attempts=settings.attempts,
                places=_places("reranker", settings.id, settings.max_concurrent, settings.max_waiting),
                observe_compute=_compute(settings.id),
                ca_file=settings.ca_file,
            )


def _generator(settings: GeneratorSettings, embedder: Embedder) -> Generator:
    match settings:
        case ExtractiveGeneratorSettings():
            return QuotingGenerator(embedder)
        case OpenAIGeneratorSettings():
            from inference_svc.generators.openai_compatible import OpenAIGenerator, Thinking

            return OpenAIGenerator(
                id=settings.id,
                base_url=settings.base_url,
                upstream_model=settings.model,
                api_key=api_key(settings),
                thinking=Thinking(settings.thinking),
                temperature=settings.temperature,
                top_p=settings.top_p,
                max_tokens=settings.max_tokens,
                window=settings.window,
                timeout=settings.timeout_seconds,
                idle=settings.idle_timeout_seconds,
                attempts=settings.attempts,
                places=_places("generator", settings.id, settings.max_concurrent, settings.max_waiting),
                observe_compute=_compute(settings.id),
                ca_file=settings.ca_file,
            )


def _places(what: str, model: str, concurrent: int, waiting: int) -> Places:
    observe_wait = MODEL_QUEUE_SECONDS.labels(model=model).observe
    return Places(what, concurrent=concurrent, waiting=waiting, observe_wait=observe_wait)


def _compute(model: str) -> Callable[[float], None]:
    return MODEL_COMPUTE_SECONDS.labels(model=model).observe


def main() -> None:
    run_service("inference", InferenceSettings, compose)


if __name__ == "__main__":
    main()
