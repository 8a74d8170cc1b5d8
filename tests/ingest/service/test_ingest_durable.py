"""Jobs as durable runs: what is lost is found, whoever lost it, and work on the whole index."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.orm import Session

from ingest_svc.jobs.journal import utc_now
from ingest_svc.jobs.ports import Progress
from ingest_svc.jobs.presence import Presence
from ingest_svc.jobs.watch import watch_job
from ingest_svc.lifecycle import DocumentState, JobKind, JobStage
from ingest_svc.queries import list_audit_events
from ingest_svc.registry import documents, jobs, workers
from ingest_svc.registry.database import Database
from ingest_svc.registry.models import JobRow
from ingest_svc.retry import retry_job
from radref.errors import PreconditionFailed, Unavailable
from tests.ingest.service.ingest_fakes import FakeInference, failing
from tests.ingest.service.ingest_stack import Stack, running_stack

NOTE = b"# Lead aprons\n\nLead aprons are checked for cracks.\n\n## Storage\n\nThey hang, never folded."


def blocking(method_wanted: str, reached: asyncio.Event) -> Callable[[str], Awaitable[None]]:
    async def hook(method: str) -> None:
        if method == method_wanted:
            reached.set()
            await asyncio.sleep(60)

    return hook


async def stop_in_the_middle(database: Database, root: Path) -> str:
    """A stack that is shut down while it embeds. Returns the job's id."""
    reached = asyncio.Event()
    inference = FakeInference(hook=blocking("Embed", reached))
    async with running_stack(database, root, inference=inference) as stack:
        submitted = await stack.submit(NOTE)
        async with asyncio.timeout(60):
            await reached.wait()
    return submitted.job_id


@pytest.mark.parametrize(
    "loss",
    [
        "DELETE FROM workflow_status",
        "UPDATE workflow_status SET application_version = 'of another shape'",
        "UPDATE workflow_status SET status = 'ERROR'",
        "UPDATE workflow_status SET executor_id = 'a worker that is gone'",
    ],
)
async def test_a_job_whose_run_is_lost_is_run_again(database: Database, tmp_path: Path, loss: str):
    job_id = await stop_in_the_middle(database, tmp_path)

    def lose(session: Session) -> None:
        session.execute(text(loss))

    await database.write(lose)
    async with running_stack(database, tmp_path, dead_after_seconds=1.0) as stack:
        job = await stack.finished(job_id)
    assert (job.stage, job.state) == (JobStage.DONE, DocumentState.INDEXED)


async def test_a_queued_job_whose_run_ended_without_it_gets_another(database: Database, tmp_path: Path):
    # A first start makes the tables.
    async with running_stack(database, tmp_path) as stack:
        submitted = await stack.index_document(NOTE)

    def queue_with_a_dead_run(session: Session) -> None:
        row = session.get_one(JobRow, submitted.job_id)
        row.stage = JobStage.QUEUED.value
        session.execute(
            text("UPDATE workflow_status SET status = 'SUCCESS', workflow_uuid = :id"),
            {"id": f"{row.id}:{row.attempts + 1}:v1"},
        )

    await database.write(queue_with_a_dead_run)
    async with running_stack(database, tmp_path, dead_after_seconds=1.0) as stack:
        job = await stack.finished(submitted.job_id)
    # It was indexed before: the run is told so, which shows that it ran.
    assert (job.stage, job.attempts) == (JobStage.FAILED, 3)
    assert job.failure is not None
    assert "indexed" in job.failure.message


async def test_a_failing_check_leaves_the_version_off_and_a_retry_goes_on(database: Database, tmp_path: Path):
    class Check:
        asked = 0

        async def run(self, document_id: str, version: int) -> None:
            self.asked += 1
            if self.asked == 1:
                raise PreconditionFailed("1 question fails: line 3.", reason="FUNCTIONAL_CHECK_FAILED")

    async with running_stack(database, tmp_path, check=Check()) as stack:
        submitted = await stack.submit(NOTE)
        job = await stack.finished(submitted.job_id)
        assert (job.stage, job.state, job.attempts) == (JobStage.FAILED, DocumentState.FAILED, 1)
        assert job.failure is not None
        assert (job.failure.reason, job.failure.retryable) == ("FUNCTIONAL_CHECK_FAILED", True)
        assert stack.index.active == {}
        assert await database.read(documents.list_index_cleanup) == []
        await retry_job(database, stack.events, stack.engine.wake, submitted.job_id)
        assert (await stack.finished(submitted.job_id)).stage is JobStage.DONE
        assert stack.index.active == {submitted.document_id: 1}


async def test_nearly_the_same_text_is_named_in_a_warning(stack: Stack):
    first = await stack.index_document(NOTE)
    second = await stack.submit(NOTE + b"\n", file_name="copy.md")
    job = await stack.finished(second.job_id)
    assert job.stage is JobStage.DONE
    assert any(first.document_id in warning for warning in job.warnings)


async def queue_reembedding(stack: Stack) -> str:
    await stack.database.write(
        lambda session: jobs.add_job(
            session, job_id="all", document_id=None, version=None, now=utc_now(), kind=JobKind.REEMBED
        )
    )
    stack.engine.wake()
    return "all"


async def test_work_on_the_whole_index_shows_progress_and_is_tried_again(database: Database, tmp_path: Path):
    calls = 0

    async def reembedding(progress: Progress) -> None:
        nonlocal calls
        calls += 1
        await progress(1, 2)
        if calls == 1:
            raise Unavailable("The retrieval service does not answer.")
        await progress(2, 2)

    async with running_stack(database, tmp_path, reembedding=reembedding) as stack:
        job_id = await queue_reembedding(stack)
        seen = [job async for job in watch_job(database, stack.events, job_id)]
    assert (seen[-1].stage, seen[-1].attempts, seen[-1].done, seen[-1].total) == (JobStage.DONE, 2, 2, 2)
    events, _ = await list_audit_events(database, document_id="", asked_size=0, page_token="")
    assert [event.action for event in events] == ["reembedded"]


async def test_work_on_the_whole_index_that_is_not_there_fails(stack: Stack):
    job = await stack.finished(await queue_reembedding(stack))
    assert job.stage is JobStage.FAILED
    again = await retry_job(stack.database, stack.events, stack.engine.wake, job.id)
    assert again.stage is JobStage.QUEUED
    assert (await stack.finished(job.id)).stage is JobStage.FAILED


async def test_a_registry_that_is_away_for_a_moment_is_waited_for(stack: Stack):
    stack.inference.hook = failing(1, "Embed")
    write, away = stack.database.write, [0, 3]

    async def sometimes(work: Callable[[Session], object]) -> object:
        away[0] += 1
        if away[0] % 5 == 0 and away[1] > 0:
            away[1] -= 1
            raise Unavailable("The registry database does not answer.")
        return await write(work)

    submitted = await stack.submit(NOTE)
    stack.database.write = sometimes  # type: ignore[method-assign, assignment]
    job = await stack.finished(submitted.job_id)
    assert job.stage is JobStage.DONE
    assert away[1] == 0


async def test_a_worker_that_was_declared_dead_drops_its_jobs_and_begins_anew(database: Database):
    presence = Presence(database=database, worker="a", dead_after_seconds=0.6, alone=True)
    dropped = asyncio.Event()

    async def drop() -> None:
        dropped.set()

    await presence.begin()
    first = presence.life
    assert first is not None
    keeping = asyncio.create_task(presence.keep(drop))
    await database.write(lambda session: workers.end_life(session, first))
    async with asyncio.timeout(60):
        await dropped.wait()
        while presence.life == first:
            await asyncio.sleep(0.05)
    life = presence.life
    assert life is not None
    assert await database.read(lambda session: workers.is_alive(session, life))
    keeping.cancel()


async def test_a_name_that_another_process_took_ends_this_one(database: Database):
    presence = Presence(database=database, worker="a", dead_after_seconds=0.6, alone=True)

    async def drop() -> None: ...

    await presence.begin()
    await database.write(lambda session: workers.begin_life(session, "a"))
    with pytest.raises(PreconditionFailed, match="worker_id"):
        async with asyncio.timeout(60):
            await presence.keep(drop)


async def test_a_name_in_use_is_refused_and_one_left_over_is_taken(database: Database):
    first = Presence(database=database, worker="a", dead_after_seconds=1.2, alone=False)
    second = Presence(database=database, worker="a", dead_after_seconds=1.2, alone=False)

    async def drop() -> None: ...

    await first.begin()
    beating = asyncio.create_task(first.keep(drop))
    with pytest.raises(PreconditionFailed, match="worker_id"):
        await second.begin()
    beating.cancel()
    await second.begin()
