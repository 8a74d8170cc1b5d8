"""An ingest worker as a process of its own, killed by whoever is at the given point.

Usage: python -m tests.ingest.service.crash_worker DATA_DIR TARGET [--document FILE] [--die-at POINT]
           [--fault die|cut] [--database URL] [--worker NAME] [--workers N] [--dead-after SECONDS]
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
from contextlib import suppress
from pathlib import Path

from ingest_svc.blobs.files import FileBlobs
from ingest_svc.chunking.model import ChunkLimits
from ingest_svc.clients import IndexClient, InferenceClient, Timeouts
from ingest_svc.data_dir import DataDir
from ingest_svc.document import ParsedDocument
from ingest_svc.jobs.backoff import Backoff
from ingest_svc.jobs.document_locks import DocumentLocks
from ingest_svc.jobs.engine import JobEngine
from ingest_svc.jobs.events import JobEvents
from ingest_svc.jobs.pipeline import Pipeline, PipelineOptions
from ingest_svc.registry.advisory_locks import AdvisoryLocks
from ingest_svc.registry.database import Database
from ingest_svc.registry.migrate import upgrade
from ingest_svc.submission import Submission
from ingest_svc.uploads.header import UploadLimits
from radref.service.channels import open_channel
from tests.ingest.postgres import kill_connections
from tests.ingest.service.ingest_fakes import PlainParser
from tests.ingest.service.ingest_stack import LIMITS, TOPICS, upload


class Fault:
    """What happens to this process, once, at a point of its work."""

    def __init__(self, point: str, kind: str, database: str) -> None:
        self._point = point
        self._kind = kind
        self._database = database

    def at(self, point: str) -> None:
        """As the kernel's out-of-memory killer, or a failover of the database, would do it."""
        if point != self._point:
            return
        self._point = ""
        if self._kind == "cut":
            kill_connections(self._database)
        else:
            os.kill(os.getpid(), signal.SIGKILL)


async def work(arguments: argparse.Namespace) -> None:
    fault = Fault(arguments.die_at, arguments.fault, arguments.database)
    data_dir = DataDir(arguments.data_dir, exclusive=not arguments.database)
    database = Database(arguments.database or data_dir.registry_url)
    upgrade(database.engine)
    # Several workers share the folder here as they would share blobs in the database.
    blobs, events = FileBlobs(data_dir.blobs), JobEvents()
    across = AdvisoryLocks(arguments.database) if database.shared else None
    parser = PlainParser()

    class DyingParser:
        async def parse(self, data: bytes, file_name: str, /) -> ParsedDocument:
            fault.at("parse")
            return await parser.parse(data, file_name)

    def clean(parsed: ParsedDocument) -> ParsedDocument:
        fault.at("clean")
        return parsed

    async with open_channel(arguments.target) as channel:
        timeouts = Timeouts(short=5.0, embed=5.0, stage=5.0)
        pipeline = Pipeline(
            blobs=blobs,
            parser=DyingParser(),
            clean=clean,
            inference=InferenceClient(channel, timeouts),
            index=IndexClient(channel, timeouts),
            locks=DocumentLocks(across),
            options=PipelineOptions(
                auto_approve=True, limits=ChunkLimits(**LIMITS), embed_batch=2, late_chunking=False
            ),
            embedding_places=1,
        )
        engine = JobEngine(
            database=database,
            events=events,
            pipeline=pipeline,
            workers=arguments.workers,
            backoff=Backoff(base_seconds=0.01, cap_seconds=0.05, max_attempts=10),
            worker_id=arguments.worker,
            dead_after_seconds=arguments.dead_after,
        )
        limits = UploadLimits(max_bytes=1_000_000, topics=TOPICS)
        submission = Submission(database=database, blobs=blobs, limits=limits, wake=engine.wake)
        if arguments.document:
            await submission.submit(upload(arguments.document.read_bytes()))
        fault.at("queued")
        running = asyncio.create_task(engine.run())
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, running.cancel)
        with suppress(asyncio.CancelledError):
            await running


if __name__ == "__main__":
    options = argparse.ArgumentParser()
    options.add_argument("data_dir", type=Path)
    options.add_argument("target")
    options.add_argument("--document", type=Path)
    options.add_argument("--die-at", default="")
    options.add_argument("--fault", default="die", choices=("die", "cut"))
    options.add_argument("--database", default="")
    options.add_argument("--worker", default="local")
    options.add_argument("--workers", type=int, default=1)
    options.add_argument("--dead-after", type=float, default=30.0)
    asyncio.run(work(options.parse_args()))
