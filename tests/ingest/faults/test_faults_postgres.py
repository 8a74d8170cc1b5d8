"""On PostgreSQL: a worker killed at every step is replaced by another one, a cut connection is survived, and
two workers share the work."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session

from ingest_svc.lifecycle import DocumentState, JobStage
from ingest_svc.registry.database import Database
from ingest_svc.registry.models import JobRow, WorkerRow
from tests.ingest.faults.faults_kit import PATIENCE_SECONDS, heavy, kill, note, opened_site
from tests.ingest.postgres import kill_connections
from tests.ingest.service.ingest_fakes import FakeIndex, FakeInference, long_document, serving

pytestmark = heavy

HANDBOOK = long_document(sections=3)
IN_THE_WORKER = ["parse", "clean"]
CALLS = ["Tokenize", "Describe", "Embed", "StageDocument", "before ActivateVersion", "after ActivateVersion"]
STORY = ["submitted", "parsed", "approved", "indexed"]


def once_at(point: str, fault: Callable[[], Awaitable[None]]) -> Callable[[str], Awaitable[None]]:
    """A hook of the fakes that does something at one call: in the middle where there are several."""
    calls = 0

    async def hook(method: str) -> None:
        nonlocal calls
        if method == point:
            calls += 1
            if calls == {"Embed": 3, "StageDocument": 2}.get(point, 1):
                await fault()

    return hook


@pytest.mark.parametrize("point", [*IN_THE_WORKER, *CALLS])
async def test_another_worker_takes_over_from_one_that_is_killed(
    tmp_path: Path, postgres_url: str, point: str
):
    inference, index = FakeInference(), FakeIndex()
    async with serving(inference, index) as target, opened_site(tmp_path, postgres_url, target) as site:
        submitted = await site.submit(HANDBOOK)
        victim = await site.worker("a", at=point if point in IN_THE_WORKER else "")
        inference.hook = index.hook = once_at(point, lambda: kill(victim))
        async with asyncio.timeout(PATIENCE_SECONDS):
            await victim.wait()
        await site.worker("b")
        job = await site.finished(submitted.job_id)
        assert (job.stage, job.state, job.attempts) == (JobStage.DONE, DocumentState.INDEXED, 2)
        assert await site.events(submitted.document_id) == STORY
    assert index.active == {submitted.document_id: 1}
    assert len(inference.embedded) - len(set(inference.embedded)) <= 2


@pytest.mark.parametrize("point", [*IN_THE_WORKER, *CALLS])
async def test_a_cut_connection_to_the_database_is_survived(tmp_path: Path, postgres_url: str, point: str):
    inference, index = FakeInference(), FakeIndex()

    async def cut() -> None:
        assert await asyncio.to_thread(kill_connections, postgres_url) > 0

    async with serving(inference, index) as target, opened_site(tmp_path, postgres_url, target) as site:
        submitted = await site.submit(HANDBOOK)
        inference.hook = index.hook = once_at(point, cut)
        await site.worker("a", at=point if point in IN_THE_WORKER else "", fault="cut")
        job = await site.finished(submitted.job_id)
        assert (job.stage, job.state) == (JobStage.DONE, DocumentState.INDEXED)
        assert await site.events(submitted.document_id) == STORY
    assert index.active == {submitted.document_id: 1}


async def done_by(database: Database, count: int) -> Counter[str]:
    """Documents done so far by worker."""

    def work(session: Session) -> Counter[str]:
        done = select(JobRow.worker).where(JobRow.stage == JobStage.DONE.value)
        return Counter(str(worker) for worker in session.scalars(done))

    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            made: Counter[str] = await database.read(work)
            if made.total() >= count:
                return made
            await asyncio.sleep(0.1)


async def test_two_workers_share_a_hundred_documents_and_none_is_done_twice(
    tmp_path: Path, postgres_url: str, capsys: pytest.CaptureFixture[str]
):
    seconds: dict[int, float] = {}
    for count in (1, 2):
        inference, index = FakeInference(), FakeIndex()

        async def busy(method: str) -> None:
            # A model elsewhere takes its time: that is what a second worker is for.
            if method == "Embed":
                await asyncio.sleep(0.2)

        inference.hook = busy
        async with serving(inference, index) as target, opened_site(tmp_path, postgres_url, target) as site:
            for name in ("a", "b")[:count]:
                await site.worker(name, places=2)
            # Starts do not count: everyone is on the list before the first document comes.
            await listed(site.database, count)
            began = time.monotonic()
            numbers = range(1000 * count, 1000 * count + 100)
            submitted = [await site.submit(note(number), f"n{number}.md") for number in numbers]
            for one in submitted:
                job = await site.finished(one.job_id)
                assert (job.stage, job.attempts) == (JobStage.DONE, 1)
            seconds[count] = time.monotonic() - began
            shares = await done_by(site.database, 100 * count)
            stories = [await site.events(one.document_id) for one in submitted]
        assert stories == [STORY] * 100
        assert sorted(index.activations) == sorted((one.document_id, 1) for one in submitted)
        assert len(inference.embedded) == len(set(inference.embedded))
        if count == 2:
            assert shares["b"] > 0
    with capsys.disabled():
        print(
            f"\n100 documents: one worker {seconds[1]:.1f} s, two workers {seconds[2]:.1f} s, {dict(shares)}"
        )


async def listed(database: Database, count: int) -> None:
    """Returns when so many workers are on the list."""

    def work(session: Session) -> int:
        return session.query(WorkerRow).count()

    async with asyncio.timeout(PATIENCE_SECONDS):
        while await database.read(work) < count:
            await asyncio.sleep(0.1)


async def test_of_two_workers_one_is_killed_half_way(tmp_path: Path, postgres_url: str):
    inference, index = FakeInference(), FakeIndex()
    async with serving(inference, index) as target, opened_site(tmp_path, postgres_url, target) as site:
        victim = await site.worker("a", places=2)
        await site.worker("b", places=2)
        await listed(site.database, 2)
        submitted = [await site.submit(note(number), f"n{number}.md") for number in range(100)]
        await done_by(site.database, 40)
        await kill(victim)
        for one in submitted:
            job = await site.finished(one.job_id)
            assert (job.stage, job.state) == (JobStage.DONE, DocumentState.INDEXED)
        stories = [await site.events(one.document_id) for one in submitted]
    assert stories == [STORY] * 100
    assert index.active == {one.document_id: 1 for one in submitted}
    # What the dead one was at may have been begun twice; nothing else was.
    assert len(index.activations) <= 102
