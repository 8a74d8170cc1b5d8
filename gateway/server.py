"""Composition root of the gateway: the only place where its settings become objects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateway.call_guard import CallGuard
from gateway.clients.inference import InferenceClient
from gateway.clients.ingest import IngestClient
from gateway.clients.retrieval import RetrievalClient
from gateway.pipeline import Pipeline, PipelineLimits
from gateway.pipeline_desk import PipelineDesk
from gateway.rest.ports import Desk, Guard
from gateway.service import GatewayService
from gateway.settings import GatewaySettings
from radref.api.gateway.v1 import gateway_pb2, gateway_pb2_grpc
from radref.service.channels import open_channel
from radref.service.health import peer
from radref.service.runtime import App, Servicer, run_service

if TYPE_CHECKING:
    from gateway.rest.server import RestServer


async def compose(settings: GatewaySettings) -> App:
    retrieval = open_channel(settings.retrieval_target)
    inference = open_channel(settings.inference_target)
    ingest = open_channel(settings.ingest_target)
    models = InferenceClient(inference)
    pipeline = Pipeline(
        searching=RetrievalClient(retrieval),
        reranking=models,
        generating=models,
        gate=settings.gate,
        policy=settings.validation,
        limits=PipelineLimits(
            max_query_characters=settings.max_query_characters,
            generation_parents=settings.generation_parents,
            max_answer_tokens=settings.max_answer_tokens,
            models=settings.models,
            rerank=settings.rerank,
        ),
    )
    guard = CallGuard()
    rest = (
        _rest(settings, PipelineDesk(pipeline, IngestClient(ingest)), guard) if settings.rest_listen else None
    )
    return App(
        services=[
            Servicer(
                gateway_pb2_grpc.add_GatewayServiceServicer_to_server,
                GatewayService(pipeline, IngestClient(ingest)),
                gateway_pb2.DESCRIPTOR.services_by_name["GatewayService"].full_name,
            )
        ],
        components=[peer("retrieval", retrieval), peer("inference", inference), peer("ingest", ingest)],
        workers=[rest.run] if rest else [],
        drainers=[rest.drain] if rest else [],
        closers=[retrieval.close, inference.close, ingest.close],
    )


def _rest(settings: GatewaySettings, desk: Desk, guard: Guard) -> RestServer:
    # Only here: without REST the gateway needs no web framework.
    from gateway.rest.app import create_app
    from gateway.rest.limits import SiteLimits
    from gateway.rest.server import RestServer

    limits = SiteLimits(settings.max_query_characters, settings.models, settings.rest_max_timeout_seconds)
    return RestServer(settings.rest_listen, create_app(desk, guard, limits), tls=None, mesh=False)


def main() -> None:
    run_service("gateway", GatewaySettings, compose)


if __name__ == "__main__":
    main()
