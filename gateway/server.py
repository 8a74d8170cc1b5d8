"""Composition root of the gateway: the only place where its settings become objects."""

from __future__ import annotations

from gateway.access_rules import ACCESS_RULES
from gateway.clients.inference import InferenceClient
from gateway.clients.ingest import IngestClient
from gateway.clients.retrieval import RetrievalClient
from gateway.pipeline import Pipeline, PipelineLimits
from gateway.service import GatewayService
from gateway.settings import GatewaySettings
from radref.api.gateway.v1 import gateway_pb2, gateway_pb2_grpc
from radref.service.channels import callers_authorization, open_channel
from radref.service.guard import guard_of
from radref.service.health import peer
from radref.service.runtime import App, Servicer, run_service


async def compose(settings: GatewaySettings) -> App:
    tls = settings.tls.files()
    retrieval = open_channel(settings.retrieval_target, tls=tls)
    inference = open_channel(settings.inference_target, tls=tls)
    ingest = open_channel(settings.ingest_target, tls=tls, authorization=callers_authorization)
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
    return App(
        services=[
            Servicer(
                gateway_pb2_grpc.add_GatewayServiceServicer_to_server,
                GatewayService(pipeline, IngestClient(ingest)),
                gateway_pb2.DESCRIPTOR.services_by_name["GatewayService"].full_name,
            )
        ],
        components=[peer("retrieval", retrieval), peer("inference", inference), peer("ingest", ingest)],
        guard=guard_of(settings, rules=ACCESS_RULES),
        closers=[retrieval.close, inference.close, ingest.close],
    )


def main() -> None:
    run_service("gateway", GatewaySettings, compose)


if __name__ == "__main__":
    main()
