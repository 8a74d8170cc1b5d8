"""Composition root of the ingest service: settings become objects here and nowhere else."""

from __future__ import annotations

import asyncio

import structlog

from ingest_svc.blobs import BlobStore
from ingest_svc.chunking.model import ChunkLimits
from ingest_svc.cleaning.clean import clean
from ingest_svc.clients import IndexClient, InferenceClient, Timeouts
from ingest_svc.data_dir import DataDir
from ingest_svc.jobs.backoff import Backoff
from ingest_svc.jobs.document_locks import DocumentLocks
from ingest_svc.jobs.engine import JobEngine
from ingest_svc.jobs.events import JobEvents
from ingest_svc.jobs.gauges import keep_gauges
from ingest_svc.jobs.pipeline import Pipeline, PipelineOptions
from ingest_svc.parsing.docling.artifacts import check_docling
from ingest_svc.parsing.docling.options import DoclingOptions
from ingest_svc.parsing.limits import ParseLimits
from ingest_svc.parsing.ocr.options import OcrOptions
from ingest_svc.parsing.worker import ParserPool
from ingest_svc.registry.database import Database
from ingest_svc.registry.migrate import upgrade
from ingest_svc.service import IngestServicer, Parts
from ingest_svc.settings import DoclingSettings, IngestSettings, OcrSettings
from ingest_svc.submission import Submission
from ingest_svc.uploads.header import UploadLimits
from ingest_svc.withdrawal import Withdrawal
from radref.api.ingest.v1 import ingest_pb2, ingest_pb2_grpc
from radref.service.channels import open_channel
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
    data_dir = DataDir(settings.data_dir)
    database = Database(data_dir.registry_url)
    revision = await asyncio.to_thread(upgrade, database.engine)
    log.info("registry ready", revision=revision)

    timeouts = Timeouts(
        short=settings.call_timeout_seconds,
        embed=settings.embed_timeout_seconds,
        stage=settings.stage_timeout_seconds,
    )
    inference_channel = open_channel(settings.inference_target)
    retrieval_channel = open_channel(settings.retrieval_target)
    index = IndexClient(retrieval_channel, timeouts)
    parser = ParserPool(
        ParseLimits(
            max_bytes=settings.max_upload_bytes,
            max_pages=settings.parsing.max_pages,
            max_expanded_bytes=settings.parsing.max_expanded_bytes,
            max_expansion_ratio=settings.parsing.max_expansion_ratio,
            max_characters=settings.parsing.max_characters,
            timeout_seconds=settings.parsing.timeout_seconds,
            memory_bytes=settings.parsing.memory_bytes,
        ),
        workers=settings.parsing.processes,
        ocr=_ocr_options(settings.parsing.ocr),
        docling=_docling_options(settings.parsing.docling),
    )
    blobs = BlobStore(data_dir.blobs)
    events = JobEvents()
    locks = DocumentLocks()
    pipeline = Pipeline(
        blobs=blobs,
        parser=parser,
        clean=clean,
        inference=InferenceClient(inference_channel, timeouts),
        index=index,
        locks=locks,
        options=PipelineOptions(
            auto_approve=settings.auto_approve,
            limits=ChunkLimits(**settings.chunking.model_dump(exclude={"late_chunking"})),
            embed_batch=settings.embed_batch,
            late_chunking=settings.chunking.late_chunking,
        ),
        embedding_places=settings.embedding_documents,
    )
    engine = JobEngine(
        database=database,
        events=events,
        attempt=pipeline.run,
        workers=settings.workers,
        backoff=Backoff(
            base_seconds=settings.backoff_base_seconds,
            cap_seconds=settings.backoff_cap_seconds,
            max_attempts=settings.max_attempts,
        ),
    )
    limits = UploadLimits(max_bytes=settings.max_upload_bytes, topics=settings.topics)
    withdrawal = Withdrawal(database=database, index=index, locks=locks, events=events)
    servicer = IngestServicer(
        Parts(
            database=database,
            blobs=blobs,
            parser=parser,
            clean=clean,
            events=events,
            submission=Submission(database=database, blobs=blobs, limits=limits, wake=engine.wake),
            withdrawal=withdrawal,
            limits=limits,
            wake=engine.wake,
        )
    )

    async def close() -> None:
        await parser.close()
        await inference_channel.close()
        await retrieval_channel.close()
        await asyncio.to_thread(database.close)
        data_dir.release()

    return App(
        services=[Servicer(ingest_pb2_grpc.add_IngestServiceServicer_to_server, servicer, _SERVICE)],
        components=[
            Component("registry", database.check),
            Component("parser", parser.check),
            peer("inference", inference_channel),
            peer("retrieval", retrieval_channel),
        ],
        workers=[engine.run, withdrawal.keep_finishing, lambda: keep_gauges(database)],
        closers=[close],
        long_lived=frozenset({f"/{_SERVICE}/WatchJob"}),
    )


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
