"""Locks of documents, in one process and across processes."""

from __future__ import annotations

import asyncio
import gc
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ingest_svc.jobs.document_locks import DocumentLocks
from ingest_svc.registry.advisory_locks import AdvisoryLocks
from radref.errors import Unavailable
from tests.ingest.postgres import kill_connections

ROOT = Path(__file__).parents[3]
# Makes the locks of another process, with so many seconds of patience.
Processes = Callable[[float], DocumentLocks]
PATIENCE = 60.0


@pytest.fixture(params=["one process", "two processes"])
def process(request: pytest.FixtureRequest) -> Processes:
    """In one process, two objects share their locks as parts of a service share one object."""
    if request.param == "one process":
        shared = DocumentLocks()

        def same(wait_seconds: float) -> DocumentLocks:
            locks = DocumentLocks(wait_seconds=wait_seconds)
            locks._locks = shared._locks
            return locks

        return same
    url = request.getfixturevalue("postgres_url")
    return lambda wait_seconds: DocumentLocks(AdvisoryLocks(url), wait_seconds=wait_seconds)


async def test_two_never_hold_the_lock_of_one_document(process: Processes):
    inside, most = 0, 0

    async def work(locks: DocumentLocks) -> None:
        nonlocal inside, most
        async with locks.of("Приказ-1"):
            inside += 1
            most = max(most, inside)
            await asyncio.sleep(0)
            inside -= 1

    first, second = process(PATIENCE), process(PATIENCE)
    await asyncio.gather(*(work(locks) for locks in (first, second) for _ in range(4)))
    assert most == 1


async def test_others_wait_a_bounded_time_and_other_documents_do_not(process: Processes):
    first, second, hasty = process(PATIENCE), process(PATIENCE), process(0.1)
    async with first.of("a"):
        async with second.of("b"):
            pass
        with pytest.raises(Unavailable, match="Document a is being worked on") as caught:
            async with hasty.of("a"):
                pass
        assert caught.value.retry_after
    async with second.of("a"):
        pass


async def test_a_cancelled_waiter_and_a_cancelled_holder_leave_the_lock_free(process: Processes):
    first, second = process(PATIENCE), process(PATIENCE)
    held = asyncio.Event()

    async def hold(locks: DocumentLocks) -> None:
        async with locks.of("a"):
            held.set()
            await asyncio.Event().wait()

    holder = asyncio.create_task(hold(first))
    await held.wait()
    waiter = asyncio.create_task(hold(second))
    await asyncio.sleep(0.05)
    for task in (waiter, holder):
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    async with second.of("a"):
        pass


async def test_a_failure_under_the_lock_comes_through(process: Processes):
    locks = process(PATIENCE)
    for failure in (RuntimeError, TimeoutError):
        with pytest.raises(failure):
            async with locks.of("a"):
                raise failure
    async with locks.of("a"):
        pass


async def test_locks_are_forgotten_after_use():
    locks = DocumentLocks()
    async with locks.of("a"), locks.of("b"):
        assert len(locks._locks) == 2
    gc.collect()
    assert len(locks._locks) == 0


async def test_a_lost_lock_breaks_off_what_is_done_under_it(postgres_url: str):
    locks = DocumentLocks(AdvisoryLocks(postgres_url))

    async def work() -> None:
        async with locks.of("a"):
            assert await asyncio.to_thread(kill_connections, postgres_url) == 1
            await asyncio.Event().wait()

    with pytest.raises(Unavailable, match="was lost") as caught:
        await asyncio.wait_for(work(), PATIENCE)
    assert "secret" not in str(caught.value)
    async with locks.of("a"):
        pass


async def test_a_killed_process_lets_go(postgres_url: str):
    script = (
        "import asyncio, sys\n"
        "from ingest_svc.registry.advisory_locks import AdvisoryLocks\n"
        "async def hold():\n"
        "    async with AdvisoryLocks(sys.argv[1]).of('a'):\n"
        "        print('held', flush=True)\n"
        "        await asyncio.Event().wait()\n"
        "asyncio.run(hold())\n"
    )
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", script, postgres_url, cwd=ROOT, stdout=asyncio.subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        async with asyncio.timeout(60):
            assert await process.stdout.readline() == b"held\n"
        with pytest.raises(Unavailable):
            async with DocumentLocks(AdvisoryLocks(postgres_url), wait_seconds=0.1).of("a"):
                pass
    finally:
        process.kill()
        await process.wait()
    async with DocumentLocks(AdvisoryLocks(postgres_url)).of("a"):
        pass


async def test_no_server_is_unavailable_and_no_secret_is_told():
    locks = DocumentLocks(AdvisoryLocks("postgresql://radref:hidden@127.0.0.1:1/registry"))
    with pytest.raises(Unavailable, match="does not answer") as caught:
        async with locks.of("a"):
            pass
    assert "hidden" not in f"{caught.value} {caught.value.metadata} {caught.value.__context__}"
