"""A whole ingest service in this process: real registry and files, gRPC fakes of its neighbours."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from ingest_svc.blobs.files import FileBlobs
from ingest_svc.chunking.model import ChunkLimits
from ingest_svc.clients import IndexClient, InferenceClient, Timeouts
from ingest_svc.index_agreement import IndexAgreement
from ingest_svc.jobs.backoff import Backoff
from ingest_svc.jobs.document_locks import DocumentLocks
from ingest_svc.jobs.engine import JobEngine
from ingest_svc.jobs.events import JobEvents
from ingest_svc.jobs.pipeline import Pipeline, PipelineOptions
from ingest_svc.jobs.ports import FunctionalCheck, Parser, Reembedding
from ingest_svc.jobs.watch import watch_job
from ingest_svc.metadata import DocumentMetadata
from ingest_svc.registry.database import Database
from ingest_svc.registry.records import Job
from ingest_svc.submission import Submission, Submitted
from ingest_svc.uploads.header import UploadHeader, UploadLimits
from ingest_svc.uploads.receive import UploadPart
from ingest_svc.withdrawal import Withdrawal
from radref.service.channels import open_channel
from tests.ingest.service.ingest_fakes import FakeIndex, FakeInference, PlainParser, serving

TOPICS = ("safety", "physics", "consult")
# Small, so that short documents have several parents and children.
LIMITS = {"parent_tokens": 400, "child_tokens": 128, "child_characters": 200}
PATIENCE_SECONDS = 60.0


@dataclass
class Stack:
    """The parts of a running service."""

    database: Database
    blobs: FileBlobs
    events: JobEvents
    engine: JobEngine
    submission: Submission
    withdrawal: Withdrawal
    agreement: IndexAgreement
    limits: UploadLimits
    parser: Parser
    inference: FakeInference
    index: FakeIndex

    async def submit(self, data: bytes, **header: object) -> Submitted:
        return await self.submission.submit(upload(data, **header))

    async def finished(self, job_id: str) -> Job:
        """The job at its end."""
        last = None
        async with asyncio.timeout(PATIENCE_SECONDS):
            async for job in watch_job(self.database, self.events, job_id):
                last = job
        assert last is not None
        return last

    async def index_document(self, data: bytes, **header: object) -> Submitted:
        done = await self.submit(data, **header)
        job = await self.finished(done.job_id)
        assert job.stage == "done", job.failure
        return done


async def upload(data: bytes, **changes: object) -> AsyncIterator[UploadPart]:
    header = UploadHeader("", "note.md", DocumentMetadata(topic="safety"), len(data))
    yield replace(header, **changes)  # type: ignore[arg-type]
    for start in range(0, len(data), 1000):
        yield data[start : start + 1000]


@asynccontextmanager
async def running_stack(
    database: Database,
    root: Path,
    *,
    inference: FakeInference | None = None,
    index: FakeIndex | None = None,
    parser: Parser | None = None,
    auto_approve: bool = True,
    max_attempts: int = 4,
    embed_timeout: float = 5.0,
    workers: int = 2,
    late_chunking: bool = False,
    check: FunctionalCheck | None = None,
    reembedding: Reembedding | None = None,
    dead_after_seconds: float = 30.0,
) -> AsyncIterator[Stack]:
    inference, index, parser = inference or FakeInference(), index or FakeIndex(), parser or PlainParser()
    async with serving(inference, index) as target, open_channel(target) as channel:
        timeouts = Timeouts(short=5.0, embed=embed_timeout, stage=5.0)
        blobs, events, locks = FileBlobs(root / "blobs"), JobEvents(), DocumentLocks()
        index_client = IndexClient(channel, timeouts)
        pipeline = Pipeline(
            blobs=blobs,
            parser=parser,
            clean=lambda parsed: parsed,
            inference=InferenceClient(channel, timeouts),
            index=index_client,
            locks=locks,
            options=PipelineOptions(
                auto_approve=auto_approve,
                limits=ChunkLimits(**LIMITS),
                embed_batch=2,
                late_chunking=late_chunking,
            ),
            embedding_places=1,
            check=check,
        )
        engine = JobEngine(
            database=database,
            events=events,
            pipeline=pipeline,
            workers=workers,
            backoff=Backoff(base_seconds=0.01, cap_seconds=0.05, max_attempts=max_attempts),
            dead_after_seconds=dead_after_seconds,
            reembedding=reembedding,
        )
        limits = UploadLimits(max_bytes=1_000_000, topics=TOPICS)
        stack = Stack(
            database=database,
            blobs=blobs,
            events=events,
            engine=engine,
            submission=Submission(database=database, blobs=blobs, limits=limits, wake=engine.wake),
            withdrawal=Withdrawal(database=database, index=index_client, locks=locks, events=events),
            agreement=IndexAgreement(database=database, index=index_client, locks=locks),
            limits=limits,
            parser=parser,
            inference=inference,
            index=index,
        )
        running = asyncio.create_task(engine.run())
        try:
            yield stack
        finally:
            running.cancel()
            with suppress(asyncio.CancelledError):
                await running
