"""Composition root of the ingest service: settings become objects here and nowhere else."""

from __future__ import annotations

import asyncio

import grpc
import structlog

from ingest_svc.access_rules import ACCESS_RULES
from ingest_svc.blobs.database import DatabaseBlobs
from ingest_svc.blobs.files import FileBlobs
from ingest_svc.chunking.model import ChunkLimits
from ingest_svc.cleaning.clean import clean
from ingest_svc.clients import IndexClient, Timeouts
from ingest_svc.data_dir import DataDir
from ingest_svc.embedding_models import EmbeddingModels, SearchedModel
from ingest_svc.functional_check import FunctionalCheck
from ingest_svc.index_agreement import IndexAgreement
from ingest_svc.jobs.backoff import Backoff
from ingest_svc.jobs.document_locks import DocumentLocks
from ingest_svc.jobs.engine import JobEngine
from ingest_svc.jobs.events import JobEvents
from ingest_svc.jobs.gauges import keep_gauges
from ingest_svc.jobs.pipeline import Pipeline, PipelineOptions
from ingest_svc.metadata import DocumentMetadata, check_metadata
from ingest_svc.parsing.docling.artifacts import check_docling
from ingest_svc.parsing.docling.options import DoclingOptions
from ingest_svc.parsing.limits import ParseLimits
from ingest_svc.parsing.ocr.options import OcrOptions
from ingest_svc.parsing.worker import ParserPool
from ingest_svc.reconcile import Reconcile
from ingest_svc.reembedding import Reembedding, StartReembedding
from ingest_svc.reembedding.index_client import GenerationIndexClient
from ingest_svc.reembedding.restaging import Restaging
from ingest_svc.registry.advisory_locks import AdvisoryLocks
from ingest_svc.registry.database import Database
from ingest_svc.registry.database_url import parse_database_url
from ingest_svc.registry.migrate import upgrade
from ingest_svc.replacing import Replacing
from ingest_svc.retrieval_client import RetrievalClient
from ingest_svc.reviewing import Reviewing
from ingest_svc.rollback import Rollback
from ingest_svc.service import IngestServicer, Parts
from ingest_svc.settings import DoclingSettings, IngestSettings, OcrSettings, WatchedSourceSettings
from ingest_svc.source_watch.addresses import AddressRules
from ingest_svc.source_watch.deposit import KnowledgeBaseDeposit
from ingest_svc.source_watch.model import Source
from ingest_svc.source_watch.watch import SourceWatch
from ingest_svc.source_watch.web import Web
from ingest_svc.submission import Submission
from ingest_svc.uploads.header import UploadLimits
from ingest_svc.variants.submitting import SubmittingVariants
from ingest_svc.withdrawal import Withdrawal
from radref.api.ingest.v1 import ingest_pb2, ingest_pb2_grpc
from radref.service.channels import open_channel
from radref.service.guard import guard_of
from radref.service.health import Component, peer
from radref.service.runtime import App, Servicer, run_service

log = structlog.get_logger()

_SERVICE = ingest_pb2.DESCRIPTOR.services_by_name["IngestService"].full_name


async def compose(settings: IngestSettings) -> App:
    """Builds the service.

    Raises:
        PreconditionFailed: INVALID_STATE, another process uses the data folder.
    """
    if settings.auto_approve:
        log.warning("auto_approve is on: every upload is indexed WITHOUT REVIEW; for trusted sources only")
    url = settings.registry.url.get_secret_value()
    shared = bool(url) and parse_database_url(url).get_backend_name() != "sqlite"
    data_dir = DataDir(settings.data_dir, exclusive=not shared)
    database = Database(
        url or data_dir.registry_url,
        busy_timeout_ms=round(settings.registry.lock_timeout_seconds * 1000),
        readers=settings.registry.readers,
    )
    revision = await asyncio.to_thread(upgrade, database.engine)
    log.info("registry ready", revision=revision)

    timeouts = Timeouts(
        short=settings.call_timeout_seconds,
        embed=settings.embed_timeout_seconds,
        stage=settings.stage_timeout_seconds,
    )
    inference_channel = open_channel(settings.inference_target, tls=settings.tls.files())
    retrieval_channel = open_channel(settings.retrieval_target, tls=settings.tls.files())
    index = IndexClient(retrieval_channel, timeouts)
    parser = ParserPool(
        ParseLimits(
            max_bytes=settings.max_upload_bytes,
            max_pages=settings.parsing.max_pages,
            max_expanded_bytes=settings.parsing.max_expanded_bytes,
            max_expansion_ratio=settings.parsing.max_expansion_ratio,
            max_characters=settings.parsing.max_characters,
            timeout_seconds=settings.parsing.timeout_seconds,
            max_timeout_seconds=settings.parsing.max_timeout_seconds,
            memory_bytes=settings.parsing.memory_bytes,
        ),
        workers=settings.parsing.processes,
        ocr=_ocr_options(settings.parsing.ocr),
        docling=_docling_options(settings.parsing.docling),
    )
    # Workers on other machines must read what was uploaded here.
    blobs = DatabaseBlobs(database, data_dir.incoming) if shared else FileBlobs(data_dir.blobs)
    events = JobEvents()
    locks = DocumentLocks(
        AdvisoryLocks(url) if shared else None, wait_seconds=settings.registry.document_lock_seconds
    )
    models = EmbeddingModels(inference_channel, timeouts)
    generations = GenerationIndexClient(retrieval_channel, timeouts)
    chunk_limits = ChunkLimits(**settings.chunking.model_dump(exclude={"late_chunking"}))
    restaging = Restaging(
        database=database,
        models=models,
        index=generations,
        limits=chunk_limits,
        embed_batch=settings.embed_batch,
        late_chunking=settings.chunking.late_chunking,
    )
    reembedding = Reembedding(database=database, models=models, index=generations, restaging=restaging)
    pipeline = Pipeline(
        blobs=blobs,
        parser=parser,
        clean=clean,
        inference=SearchedModel(models, retrieval_channel, timeouts),
        index=index,
        locks=locks,
        options=PipelineOptions(
            auto_approve=settings.auto_approve,
            limits=chunk_limits,
            embed_batch=settings.embed_batch,
            late_chunking=settings.chunking.late_chunking,
        ),
        embedding_places=settings.embedding_documents,
        check=_functional_check(settings, retrieval_channel),
    )
    engine = JobEngine(
        database=database,
        events=events,
        pipeline=pipeline,
        workers=settings.workers,
        worker_id=settings.worker_id,
        dead_after_seconds=settings.dead_worker_seconds,
        reembedding=reembedding.run,
        backoff=Backoff(
            base_seconds=settings.backoff_base_seconds,
            cap_seconds=settings.backoff_cap_seconds,
            max_attempts=settings.max_attempts,
        ),
    )
    limits = UploadLimits(max_bytes=settings.max_upload_bytes, topics=settings.topics)
    submission = Submission(database=database, blobs=blobs, limits=limits, wake=engine.wake)
    replacing = Replacing(database=database, blobs=blobs, limits=limits, wake=engine.wake)
    agreement = IndexAgreement(database=database, index=index, locks=locks)
    reconcile = Reconcile(
        database=database, contents=generations, index=index, models=models, stager=restaging, locks=locks
    )
    web = Web(
        AddressRules(settings.watch.allowed_hosts),
        timeout=settings.watch.timeout_seconds,
        max_bytes=settings.max_upload_bytes,
    )
    watch = SourceWatch(
        database=database,
        sources=[_source(source, limits) for source in settings.watch.sources],
        web=web,
        deposit=KnowledgeBaseDeposit(database=database, submission=submission, replacing=replacing),
        exclusive=locks.of,
        max_bytes=settings.max_upload_bytes,
    )
    servicer = IngestServicer(
        Parts(
            database=database,
            blobs=blobs,
            parser=parser,
            clean=clean,
            events=events,
            submission=submission,
            replacing=replacing,
            reviewing=Reviewing(
                database=database, approvals_required=settings.approvals_required, wake=engine.wake
            ),
            rollback=Rollback(database=database, wake=engine.wake),
            withdrawal=Withdrawal(database=database, index=index, locks=locks, events=events),
            variants=SubmittingVariants(database=database, submission=submission, replacing=replacing),
            verification=reconcile,
            reembed=StartReembedding(database=database, reembedding=reembedding, wake=engine.wake),
            limits=limits,
            wake=engine.wake,
        )
    )

    async def close() -> None:
        await parser.close()
        await web.close()
        await inference_channel.close()
        await retrieval_channel.close()
        await asyncio.to_thread(database.close)
        data_dir.release()

    watching = (
        [lambda: watch.keep_watching(settings.watch.interval_seconds)] if settings.watch.sources else []
    )
    return App(
        services=[Servicer(ingest_pb2_grpc.add_IngestServiceServicer_to_server, servicer, _SERVICE)],
        components=[
            Component("registry", database.check),
            Component("parser", parser.check),
            peer("inference", inference_channel),
            peer("retrieval", retrieval_channel),
        ],
        workers=[
            engine.run,
            agreement.keep_settling,
            lambda: reconcile.keep_verifying(
                settings.reconcile.interval_seconds, repair=settings.reconcile.repair
            ),
            lambda: keep_gauges(database),
            *watching,
        ],
        closers=[close],
        guard=guard_of(settings, rules=ACCESS_RULES, long_lived=frozenset({f"/{_SERVICE}/WatchJob"})),
    )


def _functional_check(settings: IngestSettings, retrieval: grpc.aio.Channel) -> FunctionalCheck | None:
    """Raises PreconditionFailed when the file of questions cannot be used."""
    if settings.functional_check.questions is None:
        return None
    return FunctionalCheck(
        questions=settings.functional_check.questions,
        search=RetrievalClient(retrieval, timeout=settings.call_timeout_seconds),
        top=settings.functional_check.top,
    )


def _source(settings: WatchedSourceSettings, limits: UploadLimits) -> Source:
    """Raises InvalidInput when the topic does not exist."""
    metadata = DocumentMetadata(
        topic=settings.topic,
        language=settings.language,
        source_category=settings.source_category,
        licence=settings.licence,
        authority=settings.authority,
    )
    check_metadata(metadata, limits.topics)
    return Source(settings.name, settings.folder, settings.urls, metadata, settings.trusted)


def _ocr_options(settings: OcrSettings) -> OcrOptions:
    plain = settings.model_dump(exclude={"deepseek_api_key"})
    return OcrOptions(**plain, deepseek_api_key=settings.deepseek_api_key.get_secret_value())


def _docling_options(settings: DoclingSettings) -> DoclingOptions | None:
    """Raises Unavailable naming every file that is missing."""
    if not settings.enabled:
        return None
    options = DoclingOptions(**settings.model_dump(exclude={"enabled"}))
    check_docling(options)
    return options


def main() -> None:
    """Runs the service until it is told to stop."""
    run_service("ingest", IngestSettings, compose)


if __name__ == "__main__":
    main()
