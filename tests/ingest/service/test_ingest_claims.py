"""Who has a job: claims, lives of workers, and what a worker that lost its job may still write."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy.orm import Session

from ingest_svc.jobs.events import JobEvents
from ingest_svc.jobs.journal import JobEnded, Journal
from ingest_svc.lifecycle import JobKind, JobStage
from ingest_svc.metadata import DocumentMetadata
from ingest_svc.registry import jobs, versions, workers
from ingest_svc.registry.database import Database
from ingest_svc.registry.jobs import HeldJob, QueuedRun
from ingest_svc.registry.models import WorkerRow
from ingest_svc.registry.records import Failure, Job

NOW = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
NOBODY: frozenset[str] = frozenset()


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """An empty registry on each of both databases."""
    if request.param == "sqlite":
        url = f"sqlite:///{shutil.copy(request.getfixturevalue('migrated'), tmp_path)}"
    else:
        url = request.getfixturevalue("postgres_url")
    database = Database(url)
    yield database
    database.close()


async def queue_a_job(database: Database) -> None:
    def work(session: Session) -> None:
        versions.add_version(
            session,
            document_id="doc",
            sha256="a" * 64,
            size_bytes=1,
            file_name="f.md",
            metadata=DocumentMetadata(topic="safety"),
            now=NOW,
        )
        jobs.add_job(session, job_id="job", document_id="doc", version=1, now=NOW)

    await database.write(work)


async def claim(
    database: Database, run: int, worker: str = "a", alive: frozenset[str] = NOBODY
) -> tuple[int, int] | None:
    """Attempts and fruitless attempts of the job claimed; None = refused."""
    job = await database.write(
        lambda session: jobs.claim(session, "job", run, worker=worker, alive=alive, now=NOW)
    )
    return (job.attempts, job.fruitless_attempts) if job else None


async def test_a_queued_job_is_claimed_once_under_its_number(database: Database):
    await queue_a_job(database)
    assert await claim(database, 2) is None
    assert await claim(database, 1) == (1, 1)
    assert await claim(database, 1, "b", alive=frozenset({"a", "b"})) is None
    assert await claim(database, 2, "b", alive=frozenset({"a", "b"})) is None
    assert (await database.read(lambda session: jobs.get_job(session, "job"))).stage is JobStage.PARSE


async def test_claims_at_the_same_moment_give_the_job_to_one(database: Database):
    await queue_a_job(database)
    alive = frozenset(f"worker{number}" for number in range(6))
    got = await asyncio.gather(*(claim(database, 1, name, alive) for name in sorted(alive)))
    assert sorted(got, key=str) == [(1, 1), *[None] * 5]


async def test_a_job_of_a_dead_worker_is_taken_over_and_counts(database: Database):
    await queue_a_job(database)
    await claim(database, 1)
    assert await claim(database, 1, "b", alive=frozenset({"b"})) == (2, 2)
    # The dead one was not dead: it comes too late.
    assert await claim(database, 1, "a", alive=frozenset({"a", "b"})) is None


async def test_a_job_given_back_goes_on_with_its_attempt(database: Database):
    await queue_a_job(database)
    await claim(database, 1)
    await database.write(lambda session: jobs.give_back(session, "job", NOW))
    assert await claim(database, 1, "b", alive=frozenset({"a", "b"})) == (1, 1)


async def test_an_earlier_run_of_a_queued_job_gets_nothing(database: Database):
    await queue_a_job(database)
    await claim(database, 1)
    await database.write(lambda session: jobs.requeue(session, "job", NOW, not_before=NOW))
    assert await claim(database, 1) is None
    assert await database.read(lambda session: jobs.list_due(session, NOW, 9)) == [QueuedRun("job", 2)]
    assert await claim(database, 2) == (2, 2)


async def test_an_ended_job_is_not_claimed(database: Database):
    await queue_a_job(database)
    await database.write(lambda session: jobs.finish(session, "job", JobStage.FAILED, NOW))
    assert await claim(database, 1) is None
    assert await claim(database, 2) is None


async def claimed(database: Database, worker: str) -> Job:
    job = await database.write(
        lambda session: jobs.claim(session, "job", 1, worker=worker, alive=NOBODY, now=NOW)
    )
    assert job is not None
    return job


async def test_a_worker_that_lost_its_job_writes_nothing(database: Database):
    await queue_a_job(database)
    slow = Journal(database, JobEvents(), await claimed(database, "a"), "a")
    quick = Journal(database, JobEvents(), await claimed(database, "b"), "b")
    for write in (
        slow.approved("late"),
        slow.requeued(0.0, None),
        slow.failed(Failure("INTERNAL", "late", True)),
        slow.given_back(),
        slow.awaits_review(),
        slow.progress(1, 2),
    ):
        with pytest.raises(JobEnded):
            await write
    await quick.progress(1, 2)
    job = await database.read(lambda session: jobs.get_job(session, "job"))
    assert (job.done, job.total, job.attempts) == (1, 2, 2)


async def test_a_stranded_job_is_queued_again_unless_it_moved_on(database: Database):
    await queue_a_job(database)
    await claim(database, 1)
    held = await database.read(jobs.list_held)
    assert held == [HeldJob("job", "a", 1)]
    await claim(database, 1, "b")
    assert not await database.write(lambda session: jobs.requeue_stranded(session, held[0], NOW))
    held = await database.read(jobs.list_held)
    assert await database.write(lambda session: jobs.requeue_stranded(session, held[0], NOW))
    assert not await database.write(lambda session: jobs.requeue_stranded(session, held[0], NOW))
    assert await database.read(jobs.list_held) == []
    assert await claim(database, 3) == (3, 3)


async def test_a_run_that_ended_without_its_job_is_skipped_once(database: Database):
    await queue_a_job(database)
    run = QueuedRun("job", 1)
    assert await database.write(lambda session: jobs.skip_run(session, run, NOW))
    assert not await database.write(lambda session: jobs.skip_run(session, run, NOW))
    assert await database.read(lambda session: jobs.list_due(session, NOW, 9)) == [QueuedRun("job", 2)]


async def test_a_job_on_the_whole_index_names_no_version(database: Database):
    await database.write(
        lambda session: jobs.add_job(
            session, job_id="all", document_id=None, version=None, now=NOW, kind=JobKind.REEMBED
        )
    )
    job = await database.read(lambda session: jobs.get_job(session, "all"))
    assert (job.kind, job.document_id, job.version, job.state) == (JobKind.REEMBED, "", 0, None)


async def test_a_wait_that_a_wrong_clock_made_is_shortened(database: Database):
    await queue_a_job(database)
    later = NOW + timedelta(days=400)
    await database.write(lambda session: jobs.requeue(session, "job", NOW, not_before=later))
    await database.write(lambda session: jobs.shorten_waits(session, NOW + timedelta(days=500), NOW))
    assert await database.read(lambda session: jobs.list_due(session, NOW, 9)) == []
    await database.write(lambda session: jobs.shorten_waits(session, NOW + timedelta(hours=1), NOW))
    assert len(await database.read(lambda session: jobs.list_due(session, NOW, 9))) == 1


async def test_a_life_ends_when_another_begins_or_it_is_buried(database: Database):
    first = await database.write(lambda session: workers.begin_life(session, "a"))
    assert await database.write(lambda session: workers.beat(session, first))
    second = await database.write(lambda session: workers.begin_life(session, "a"))
    assert not await database.write(lambda session: workers.beat(session, first))
    assert await database.write(lambda session: workers.beat(session, second))
    await database.write(lambda session: workers.end_life(session, first))
    assert await database.read(lambda session: workers.is_alive(session, second))

    def silent_for_a_minute(session: Session) -> None:
        session.get_one(WorkerRow, "a").seen_at -= timedelta(minutes=1)

    minute = timedelta(seconds=50)
    assert await database.write(lambda session: workers.bury_dead(session, minute)) == []
    await database.write(silent_for_a_minute)
    assert await database.write(lambda session: workers.bury_dead(session, minute)) == ["a"]
    assert await database.write(lambda session: workers.bury_dead(session, minute)) == []
    assert not await database.write(lambda session: workers.beat(session, second))
    assert await database.read(workers.list_alive) == NOBODY
