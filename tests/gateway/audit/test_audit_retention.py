"""What is too old is deleted, with its feedback and from the file."""

from __future__ import annotations

import asyncio
import sqlite3
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import structlog

from gateway.audit import engine
from gateway.audit import trail as trail_module
from gateway.audit.database import AuditDatabase
from gateway.audit.feedback import FeedbackBox
from gateway.audit.model import AuditFilter, Feedback, FeedbackFilter
from gateway.audit.retention import keep_purging
from gateway.audit.trail import AuditTrail
from tests.gateway.audit.audit_kit import NOW, make_trail, numbered, sqlite_url, whole_store


async def ids(trail: AuditTrail) -> list[str]:
    return [record.request_id for record in (await trail.query(AuditFilter())).records]


async def until_left(trail: AuditTrail, left: list[str]) -> None:
    async with asyncio.timeout(30):
        while await ids(trail) != left:
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("batch", [1, 2, 500])
async def test_only_what_is_older_goes_in_batches(
    any_database: AuditDatabase, monkeypatch: pytest.MonkeyPatch, batch: int
) -> None:
    monkeypatch.setattr(trail_module, "PURGE_BATCH", batch)
    trail, box = make_trail(any_database), FeedbackBox(any_database)
    for number in range(6):
        await trail.record(numbered(number))
        await box.submit(Feedback(f"r{number}", comment="good"), "ann")
    assert await trail.purge(NOW + timedelta(seconds=4)) == 4
    assert await ids(trail) == ["r5", "r4"]
    kept = (await box.page(FeedbackFilter())).entries
    assert {entry.feedback.request_id for entry in kept} == {"r5", "r4"}
    assert await trail.purge(NOW + timedelta(seconds=4)) == 0


async def test_deleted_texts_are_gone_from_the_file(database: AuditDatabase, tmp_path: Path) -> None:
    trail = make_trail(database, keep_query_text=True)
    for number in range(50):
        await trail.record(numbered(number, query_text=f"Ivanov {number} " * 20))
    assert b"Ivanov" in whole_store(tmp_path)
    assert await trail.purge(NOW + timedelta(days=1)) == 50
    assert b"Ivanov" not in whole_store(tmp_path)


async def test_the_worker_deletes_at_once_and_again(database: AuditDatabase, trail: AuditTrail) -> None:
    today = datetime.now(UTC)
    await trail.record(numbered(1, at=today))
    await trail.record(numbered(2, at=today - timedelta(days=31)))
    worker = asyncio.create_task(keep_purging(trail, timedelta(days=30), interval=0.01))
    await until_left(trail, ["r1"])
    await trail.record(numbered(3, at=today - timedelta(days=31)))
    await until_left(trail, ["r1"])
    worker.cancel()
    with pytest.raises(asyncio.CancelledError):
        await worker


async def test_the_worker_survives_an_outage(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(engine, "LOCK_SECONDS", 0)
    database = AuditDatabase(sqlite_url(tmp_path))
    trail = make_trail(database)
    await trail.record(numbered(1, at=NOW - timedelta(days=9000)))
    other = sqlite3.connect(tmp_path / "audit.sqlite3", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with structlog.testing.capture_logs() as logs:
        worker = asyncio.create_task(keep_purging(trail, timedelta(days=1000), interval=0.01))
        async with asyncio.timeout(30):
            while not logs:
                await asyncio.sleep(0.01)
        assert logs[0]["event"] == "audit records were not deleted"
        other.execute("ROLLBACK")
        await until_left(trail, [])
        assert not worker.done()
        worker.cancel()
        await asyncio.wait([worker])
    other.close()
    database.close()
