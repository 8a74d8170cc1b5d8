"""Composition root of the gateway: the only place where its settings become objects."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING

import structlog

from gateway.access_rules import ACCESS_RULES, NEEDS_MODEL
from gateway.audit.database import AuditDatabase
from gateway.audit.feedback import FeedbackBox
from gateway.audit.key_file import read_key, read_or_make_key
from gateway.audit.query_hash import QueryHash
from gateway.audit.retention import keep_purging
from gateway.audit.trail import AuditTrail
from gateway.clients.inference import InferenceClient
from gateway.clients.ingest import IngestClient
from gateway.clients.retrieval import RetrievalClient
from gateway.consult.consulting import Consulting
from gateway.consult.terminology.load import load_terminology
from gateway.counting import start_at_zero
from gateway.desk import Desk
from gateway.pipeline import Pipeline, PipelineLimits
from gateway.service import GatewayService
from gateway.settings import GatewaySettings
from radref.api.gateway.v1 import gateway_pb2, gateway_pb2_grpc
from radref.errors import Unavailable
from radref.service.channels import callers_authorization, open_channel
from radref.service.guard import Guard, guard_of
from radref.service.health import Component, peer
from radref.service.runtime import App, Servicer, run_service

if TYPE_CHECKING:
    from gateway.rest.server import RestServer

log = structlog.get_logger()


async def compose(settings: GatewaySettings) -> App:
    """Builds the service.

    Raises:
        PreconditionFailed: INVALID_STATE, the audit key cannot be used, a newer release wrote the store, or a
            terminology file is not in its form.
    """
    start_at_zero()
    database, trail = await _audit(settings)
    tls = settings.tls.files()
    retrieval = open_channel(settings.retrieval_target, tls=tls)
    inference = open_channel(settings.inference_target, tls=tls)
    # It faces users too: it wants the token of the person who asks.
    ingest = open_channel(settings.ingest_target, tls=tls, authorization=callers_authorization)
    models = InferenceClient(inference)
    searching = RetrievalClient(retrieval)
    pipeline = Pipeline(
        searching=searching,
        reranking=models,
        generating=models,
        gate=settings.gate,
        policy=settings.validation,
        limits=PipelineLimits(
            max_query_characters=settings.max_query_characters,
            generation_parents=settings.generation_parents,
            max_prompt_tokens=settings.max_prompt_tokens,
            max_answer_tokens=settings.max_answer_tokens,
            models=settings.models,
            rerank=settings.rerank,
        ),
    )
    consulting = Consulting(
        searching=searching,
        generating=models,
        terminology=load_terminology(settings.consult.terminology_dir),
        settings=settings.consult,
        max_characters=settings.max_query_characters,
    )
    desk = Desk(pipeline, consulting, IngestClient(ingest), trail, FeedbackBox(database))
    guard = guard_of(
        settings, rules=ACCESS_RULES, model_calls=settings.max_model_calls, needs_model=NEEDS_MODEL
    )
    rest = _rest(settings, desk, guard) if settings.rest_listen else None
    return App(
        services=[
            Servicer(
                gateway_pb2_grpc.add_GatewayServiceServicer_to_server,
                GatewayService(desk),
                gateway_pb2.DESCRIPTOR.services_by_name["GatewayService"].full_name,
            )
        ],
        components=[
            peer("retrieval", retrieval),
            peer("inference", inference),
            peer("ingest", ingest),
            # Where answers are given unrecorded, its outage keeps nothing from starting.
            *([Component("audit", database.check)] if settings.audit.required else []),
        ],
        workers=[
            lambda: keep_purging(trail, timedelta(days=settings.audit.retention_days)),
            *([rest.run] if rest else []),
        ],
        drainers=[rest.drain] if rest else [],
        guard=guard,
        closers=[
            trail.close,
            lambda: asyncio.to_thread(database.close),
            retrieval.close,
            inference.close,
            ingest.close,
        ],
    )


async def _audit(settings: GatewaySettings) -> tuple[AuditDatabase, AuditTrail]:
    audit = settings.audit
    url = audit.url.get_secret_value()
    if not (url and audit.hash_key_file):
        # Nobody else reads who asked what.
        settings.data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    if audit.hash_key_file:
        key = read_key(audit.hash_key_file)
    else:
        key = read_or_make_key(settings.data_dir / "audit.key")
    database = AuditDatabase(url or f"sqlite:///{settings.data_dir / 'audit.sqlite3'}")
    try:
        log.info("audit store ready", revision=await database.open(), required=audit.required)
    except Unavailable as exc:
        # The first write that reaches it does the same.
        log.warning("audit store does not answer yet", required=audit.required, **exc.metadata)
    if audit.keep_query_text:
        log.warning("audit.keep_query_text is on: questions are stored in clear text")
    trail = AuditTrail(
        database,
        query_hash=QueryHash(key),
        required=audit.required,
        keep_query_text=audit.keep_query_text,
    )
    return database, trail


def _rest(settings: GatewaySettings, desk: Desk, guard: Guard) -> RestServer:
    # Only here: without REST the gateway needs no web framework.
    from gateway.rest.app import create_app
    from gateway.rest.limits import SiteLimits
    from gateway.rest.server import RestServer, Tls

    limits = SiteLimits(settings.max_query_characters, settings.models, settings.rest_max_timeout_seconds)
    files = settings.tls.files()
    # People and integrators need no certificate here, only a token.
    tls = Tls(files.cert, files.key) if files and files.cert and files.key else None
    app = create_app(desk, guard, limits)
    return RestServer(settings.rest_listen, app, tls, mesh=settings.tls.mode == "mesh")


def main() -> None:
    run_service("gateway", GatewaySettings, compose)


if __name__ == "__main__":
    main()
