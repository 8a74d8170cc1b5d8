"""Workers as processes of their own, on a PostgreSQL of the test, over fakes of their neighbours."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from ingest_svc.blobs.files import FileBlobs
from ingest_svc.data_dir import DataDir
from ingest_svc.jobs.events import JobEvents
from ingest_svc.jobs.watch import watch_job
from ingest_svc.lifecycle import FINAL_STAGES
from ingest_svc.queries import list_audit_events
from ingest_svc.registry.database import Database
from ingest_svc.registry.records import Job
from ingest_svc.submission import Submission, Submitted
from ingest_svc.uploads.header import UploadLimits
from radref.errors import Unavailable
from tests.ingest.service.ingest_stack import TOPICS, upload

ROOT = Path(__file__).parents[3]
PATIENCE_SECONDS = 600.0
# Short, so that a death is noticed soon; long enough for a machine with much else to do.
DEAD_AFTER_SECONDS = 12.0

heavy = pytest.mark.skipif(not os.environ.get("RADREF_TEST_FAULTS"), reason="takes minutes: make test-faults")


@dataclass
class Site:
    """A registry and a folder that workers share, and a curator's view of it."""

    root: Path
    url: str
    target: str
    database: Database
    submission: Submission
    workers: list[asyncio.subprocess.Process] = field(default_factory=list)

    async def submit(self, data: bytes, file_name: str = "note.md") -> Submitted:
        return await self.submission.submit(upload(data, file_name=file_name))

    async def finished(self, job_id: str) -> Job:
        """The job at its end; it runs in another process."""
        last = None
        async with asyncio.timeout(PATIENCE_SECONDS):
            while last is None or last.stage not in FINAL_STAGES:
                # Our own connections are cut, too.
                with suppress(Unavailable):
                    async for job in watch_job(self.database, JobEvents(), job_id):
                        last = job
        return last

    async def worker(
        self, name: str, *, at: str = "", fault: str = "die", places: int = 1
    ) -> asyncio.subprocess.Process:
        """Starts a worker.

        Args:
            at: where in its own process it has the fault; "" = nowhere.
            fault: "die", or "cut": its connections to the database end.
        """
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "tests.ingest.service.crash_worker", str(self.root), self.target),
            *("--database", self.url, "--worker", name, "--workers", str(places)),
            *("--die-at", at, "--fault", fault, "--dead-after", str(DEAD_AFTER_SECONDS)),
            cwd=ROOT,
        )
        self.workers.append(process)
        return process

    async def events(self, document_id: str) -> list[str]:
        """What was done to a document, oldest first."""
        found, _ = await list_audit_events(
            self.database, document_id=document_id, asked_size=1000, page_token=""
        )
        return [event.action for event in reversed(found)]


async def kill(process: asyncio.subprocess.Process) -> None:
    """kill -9; returns when it is gone."""
    if process.returncode is None:
        process.send_signal(signal.SIGKILL)
    await process.wait()


@asynccontextmanager
async def opened_site(root: Path, url: str, target: str) -> AsyncIterator[Site]:
    """A site without workers; those that are started are gone at the end."""
    data_dir = DataDir(root, exclusive=False)
    database = Database(url)
    submission = Submission(
        database=database,
        blobs=FileBlobs(data_dir.blobs),
        limits=UploadLimits(max_bytes=1_000_000, topics=TOPICS),
        wake=lambda: None,
    )
    site = Site(root, url, target, database, submission)
    try:
        yield site
    finally:
        for process in site.workers:
            await kill(process)
        database.close()


def note(number: int) -> bytes:
    """A short document that resembles no other one."""
    words = " ".join(f"{uuid.uuid5(uuid.NAMESPACE_OID, f'{number}-{index}').hex[:9]}" for index in range(40))
    return f"# Note {number}\n\n{words}.".encode()
