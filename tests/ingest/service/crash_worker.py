"""A process of its own that submits a document and works on it, killed by whoever is at the given point.

Usage: python -m tests.ingest.service.crash_worker DATA_DIR TARGET DOCUMENT DIE_AT
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

from ingest_svc.blobs import BlobStore
from ingest_svc.chunking.model import ChunkLimits
from ingest_svc.clients import IndexClient, InferenceClient, Timeouts
from ingest_svc.data_dir import DataDir
from ingest_svc.document import ParsedDocument
from ingest_svc.jobs.backoff import Backoff
from ingest_svc.jobs.document_locks import DocumentLocks
from ingest_svc.jobs.engine import JobEngine
from ingest_svc.jobs.events import JobEvents
from ingest_svc.jobs.pipeline import Pipeline, PipelineOptions
from ingest_svc.registry.database import Database
from ingest_svc.registry.migrate import upgrade
from ingest_svc.submission import Submission
from ingest_svc.uploads.header import UploadLimits
from radref.service.channels import open_channel
from tests.ingest.service.ingest_fakes import PlainParser
from tests.ingest.service.ingest_stack import LIMITS, TOPICS, upload


def die() -> None:
    """As the kernel's out-of-memory killer would do it."""
    os.kill(os.getpid(), signal.SIGKILL)


async def work(root: Path, target: str, document: bytes, die_at: str) -> None:
    data_dir = DataDir(root)
    database = Database(data_dir.registry_url)
    upgrade(database.engine)
    blobs, events = BlobStore(data_dir.blobs), JobEvents()
    parser = PlainParser()

    class DyingParser:
        async def parse(self, data: bytes, file_name: str, /) -> ParsedDocument:
            if die_at == "parse":
                die()
            return await parser.parse(data, file_name)

    def clean(parsed: ParsedDocument) -> ParsedDocument:
        if die_at == "clean":
            die()
        return parsed

    async with open_channel(target) as channel:
        timeouts = Timeouts(short=5.0, embed=5.0, stage=5.0)
        pipeline = Pipeline(
            blobs=blobs,
            parser=DyingParser(),
            clean=clean,
            inference=InferenceClient(channel, timeouts),
            index=IndexClient(channel, timeouts),
            locks=DocumentLocks(),
            options=PipelineOptions(
                auto_approve=True, limits=ChunkLimits(**LIMITS), embed_batch=2, late_chunking=False
            ),
            embedding_places=1,
        )
        engine = JobEngine(
            database=database,
            events=events,
            attempt=pipeline.run,
            workers=1,
            backoff=Backoff(base_seconds=0.01, cap_seconds=0.05, max_attempts=4),
        )
        limits = UploadLimits(max_bytes=1_000_000, topics=TOPICS)
        submission = Submission(database=database, blobs=blobs, limits=limits, wake=engine.wake)
        await submission.submit(upload(document))
        if die_at == "queued":
            die()
        await engine.run()


if __name__ == "__main__":
    asyncio.run(work(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]).read_bytes(), sys.argv[4]))
