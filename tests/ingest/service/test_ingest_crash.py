"""kill -9 at every step of a job: the next process brings it to its end, indexed exactly once."""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path

import pytest
from sqlalchemy.orm import Session

from ingest_svc.data_dir import DataDir
from ingest_svc.jobs.gauges import refresh_gauges
from ingest_svc.lifecycle import DocumentState, JobStage
from ingest_svc.queries import list_audit_events, list_documents
from ingest_svc.registry.database import Database
from ingest_svc.registry.models import JobRow
from radref.errors import PreconditionFailed
from radref.service.metrics import INGEST_QUEUE_DEPTH
from tests.ingest.service.ingest_fakes import FakeIndex, FakeInference, long_document, serving
from tests.ingest.service.ingest_stack import running_stack

ROOT = Path(__file__).parents[3]
HANDBOOK = long_document(sections=3)
POINTS = [
    "queued",
    "parse",
    "clean",
    "Tokenize",
    "Describe",
    "Embed",
    "StageDocument",
    "before ActivateVersion",
    "after ActivateVersion",
]


async def crash(root: Path, document: Path, point: str, inference: FakeInference, index: FakeIndex) -> None:
    """Runs the worker until it was killed at `point`: by itself, or by the backend it has just called."""
    process: asyncio.subprocess.Process | None = None
    calls = 0

    async def kill(method: str) -> None:
        nonlocal calls
        if method != point or process is None or process.returncode is not None:
            return
        calls += 1
        # In the middle of the work where it has a middle: the third batch, the second message.
        if calls == {"Embed": 3, "StageDocument": 2}.get(point, 1):
            process.send_signal(signal.SIGKILL)
            await process.wait()

    inference.hook = index.hook = kill
    async with serving(inference, index) as target:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "tests.ingest.service.crash_worker",
            str(root),
            target,
            *("--document", str(document), "--die-at", point),
            cwd=ROOT,
        )
        try:
            async with asyncio.timeout(60):
                assert await process.wait() == -signal.SIGKILL
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()


@pytest.fixture
def document(tmp_path: Path) -> Path:
    path = tmp_path / "handbook.md"
    path.write_bytes(HANDBOOK)
    return path


def _database(root: Path) -> Database:
    return Database(f"sqlite:///{root / 'registry.sqlite3'}")


def _only_job_id(session: Session) -> str:
    return session.query(JobRow).one().id


@pytest.mark.parametrize("point", POINTS)
async def test_a_killed_service_resumes(tmp_path: Path, document: Path, point: str):
    root = tmp_path / "data"
    inference, index = FakeInference(), FakeIndex()
    await crash(root, document, point, inference, index)
    before = list(inference.embedded)
    # The kernel dropped the dead process's lock.
    data_dir = DataDir(root)
    database = _database(root)
    inference.hook = index.hook = FakeInference().hook
    async with running_stack(database, root, inference=inference, index=index) as stack:
        job = await stack.finished(await database.read(_only_job_id))
        assert (job.stage, job.state) == (JobStage.DONE, DocumentState.INDEXED)
        assert job.attempts == (1 if point == "queued" else 2)
        _, parents, children = index.staged[job.document_id, 1]
        assert (len(parents), len(children)) == (job.parents, job.children)
        assert index.active == {job.document_id: 1}
        again = await stack.submit(HANDBOOK)
        assert again.duplicate
    if point == "Embed":
        # Two batches of two were answered before the kill; the third may be lost, no other is made twice.
        assert len(before) >= 4
        repeated = len(inference.embedded) - len(set(inference.embedded))
        assert repeated <= 2
    page = await list_documents(database, states=(), topics=(), known_topics=(), asked_size=0, page_token="")
    assert page.total == 1
    events, _ = await list_audit_events(database, document_id="", asked_size=0, page_token="")
    assert [event.action for event in events] == ["indexed", "approved", "parsed", "submitted"]
    assert not list((root / "blobs" / "incoming").iterdir())
    await refresh_gauges(database)
    assert INGEST_QUEUE_DEPTH._value.get() == 0
    database.close()
    data_dir.release()


async def test_a_document_that_kills_the_service_each_time_is_given_up(tmp_path: Path, document: Path):
    root = tmp_path / "data"
    await crash(root, document, "parse", FakeInference(), FakeIndex())
    database = _database(root)

    def as_if_it_had_died_often(session: Session) -> None:
        row = session.query(JobRow).one()
        assert (row.stage, row.attempts, row.fruitless_attempts) == ("parse", 1, 1)
        row.attempts = row.fruitless_attempts = 4

    await database.write(as_if_it_had_died_often)
    async with running_stack(database, root, max_attempts=4) as stack:
        job = await stack.finished(await database.read(_only_job_id))
    assert job.stage is JobStage.FAILED
    assert job.failure is not None
    assert job.failure.reason == "INTERNAL"
    assert "4 attempts" in job.failure.message
    database.close()


def test_one_process_owns_the_data_folder(tmp_path: Path):
    with DataDir(tmp_path), pytest.raises(PreconditionFailed, match="Another ingest service"):
        DataDir(tmp_path)
    DataDir(tmp_path).release()
