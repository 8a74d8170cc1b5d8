"""What happens to an answer when its record is written, and when it cannot be."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path

import pytest
import structlog

from gateway.audit import engine
from gateway.audit import trail as trail_module
from gateway.audit.database import AuditDatabase
from gateway.audit.model import AuditFilter, AuditRecord
from gateway.audit.trail import AuditTrail
from gateway.model import Outcome
from radref.errors import RadrefError, Unavailable
from radref.service.context import Call, set_current_call
from radref.service.metrics import AUDIT_FAILURES
from tests.gateway.audit.audit_kit import (
    IDS,
    KEY,
    NOW,
    RECORD,
    make_read_only,
    make_trail,
    numbered,
    sqlite_url,
    whole_store,
)

QUESTION = "Is  Ivanov's dose\nabove the limit?"


def failures() -> float:
    return AUDIT_FAILURES._value.get()


async def only_record(trail: AuditTrail) -> AuditRecord:
    (record,) = (await trail.query(AuditFilter())).records
    return record


async def test_an_answer_is_recorded_with_its_note(trail: AuditTrail) -> None:
    set_current_call(Call("req-7", "/g/Generate", None))
    async with trail.recorded("Generate", QUESTION, "ann") as note:
        note.citation_ids, note.outcome = IDS[:1], Outcome.ANSWERED
    record = await only_record(trail)
    assert (record.request_id, record.at, record.actor, record.method) == ("req-7", NOW, "ann", "Generate")
    assert (record.citation_ids, record.outcome, record.error_reason) == (IDS[:1], Outcome.ANSWERED, "")
    assert len(record.query_hash) == 64
    assert record.query_text == ""
    assert record.duration_ms > 0


@pytest.mark.parametrize("keep", [False, True])
async def test_the_text_is_on_disk_only_when_the_site_wants_it(
    database: AuditDatabase, tmp_path: Path, keep: bool
) -> None:
    trail = make_trail(database, keep_query_text=keep)
    async with trail.recorded("Search", QUESTION, "ann"):
        pass
    record = await only_record(trail)
    assert record.query_text == ("Is Ivanov's dose above the limit?" if keep else "")
    assert (b"Ivanov" in whole_store(tmp_path)) is keep
    assert KEY not in whole_store(tmp_path)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (Unavailable("away"), "BACKEND_UNAVAILABLE"),
        (RadrefError("odd", reason="GATE_NOT_CALIBRATED"), "GATE_NOT_CALIBRATED"),
        (KeyError("Ivanov"), "INTERNAL"),
    ],
)
async def test_a_failure_is_recorded_and_passed_on(trail: AuditTrail, error: Exception, reason: str) -> None:
    async def fails() -> None:
        async with trail.recorded("Generate", QUESTION, "ann") as note:
            note.outcome = Outcome.ANSWERED
            raise error

    with pytest.raises(type(error)) as caught:
        await fails()
    assert caught.value is error
    record = await only_record(trail)
    assert (record.error_reason, record.outcome) == (reason, None)


@pytest.mark.parametrize(("seconds", "reason"), [(None, "CANCELLED"), (60.0, "CANCELLED"), (0.0, "DEADLINE")])
async def test_a_call_that_is_broken_off_is_recorded(
    trail: AuditTrail, seconds: float | None, reason: str
) -> None:
    entered = asyncio.Event()

    async def serve() -> None:
        deadline = None if seconds is None else trail_module.time.monotonic() + seconds
        set_current_call(Call("req-8", "/g/Generate", deadline))
        async with trail.recorded("Generate", QUESTION, "ann"):
            entered.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(serve())
    await entered.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await trail.close()
    assert (await only_record(trail)).error_reason == reason


async def test_a_stream_that_nobody_reads_on_is_recorded(trail: AuditTrail) -> None:
    async def stream():
        async with trail.recorded("StreamGenerate", QUESTION, "ann") as note:
            note.uncited_ids = IDS[:2]
            yield 1
            yield 2

    reading = stream()
    await anext(reading)
    await reading.aclose()
    await trail.close()
    record = await only_record(trail)
    assert (record.error_reason, record.uncited_ids) == ("CANCELLED", IDS[:2])


async def test_a_caller_that_leaves_while_the_record_is_written_does_not_stop_it(
    database: AuditDatabase, trail: AuditTrail
) -> None:
    await database.open()
    # The one writing thread is busy, so the record waits in its queue.
    free = asyncio.Event()
    loop = asyncio.get_running_loop()
    busy = asyncio.create_task(
        database.write(lambda _: asyncio.run_coroutine_threadsafe(free.wait(), loop).result())
    )
    await asyncio.sleep(0)
    recording = asyncio.create_task(trail.record(RECORD))
    await asyncio.sleep(0)
    recording.cancel()
    with pytest.raises(asyncio.CancelledError):
        await recording
    free.set()
    await busy
    await trail.close()
    assert await only_record(trail) == RECORD


async def test_an_answer_that_cannot_be_recorded_is_refused(database: AuditDatabase) -> None:
    trail = make_trail(database)
    await database.open()
    make_read_only(database)
    before = failures()
    with structlog.testing.capture_logs() as logs:
        for _ in range(3):
            with pytest.raises(Unavailable) as caught:
                async with trail.recorded("Generate", QUESTION, "ann") as note:
                    note.outcome = Outcome.ANSWERED
            assert caught.value.metadata["backend"] == "audit"
            assert caught.value.reason == "BACKEND_UNAVAILABLE"
    assert failures() - before == 3
    (line,) = logs
    assert (line["log_level"], line["answers"]) == ("error", "refused")
    assert "Ivanov" not in str(logs)


async def test_while_the_store_is_down_no_model_is_asked(database: AuditDatabase) -> None:
    trail = make_trail(database)
    await database.open()
    make_read_only(database)
    with pytest.raises(Unavailable):
        await trail.record(RECORD)
    worked = False
    with pytest.raises(Unavailable):
        async with trail.recorded("Generate", QUESTION, "ann"):
            worked = True
    assert not worked


async def test_an_answer_is_given_unrecorded_where_the_site_says_so(database: AuditDatabase) -> None:
    trail = make_trail(database, required=False)
    await database.open()
    make_read_only(database)
    before = failures()
    with structlog.testing.capture_logs() as logs:
        for _ in range(3):
            async with trail.recorded("Generate", QUESTION, "ann"):
                pass
    assert failures() - before == 3
    assert [line["answers"] for line in logs] == ["given unrecorded"]


async def test_the_error_of_a_call_is_told_even_when_it_cannot_be_recorded(database: AuditDatabase) -> None:
    trail = make_trail(database)
    await database.open()
    make_read_only(database)
    with pytest.raises(RadrefError) as caught:
        async with trail.recorded("Generate", QUESTION, "ann"):
            raise RadrefError("odd", reason="EMPTY_TEXT")
    assert caught.value.reason == "EMPTY_TEXT"


async def test_a_locked_file_is_unavailable_until_it_is_free(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(engine, "LOCK_SECONDS", 0)
    database = AuditDatabase(sqlite_url(tmp_path))
    trail = make_trail(database)
    await trail.record(numbered(1))
    other = sqlite3.connect(tmp_path / "audit.sqlite3", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with structlog.testing.capture_logs() as logs:
        for _ in range(2):
            with pytest.raises(Unavailable):
                await trail.record(numbered(2))
        with pytest.raises(Unavailable):
            await database.check()
        # What is there can be read all the same.
        assert len((await trail.query(AuditFilter())).records) == 1
        other.execute("ROLLBACK")
        await trail.record(numbered(3))
    assert [line["event"] for line in logs] == [
        "audit store cannot be written",
        "audit store is written again",
    ]
    assert logs[0]["sqlstate"] == "SQLITE_BUSY"
    assert [record.request_id for record in (await trail.query(AuditFilter())).records] == ["r3", "r1"]
    other.close()
    database.close()


async def test_a_store_that_does_not_answer_in_time_is_down(
    monkeypatch: pytest.MonkeyPatch, database: AuditDatabase, trail: AuditTrail
) -> None:
    await database.open()
    monkeypatch.setattr(trail_module, "WRITE_TIMEOUT_SECONDS", 0.01)
    free = asyncio.Event()
    loop = asyncio.get_running_loop()
    busy = asyncio.create_task(
        database.write(lambda _: asyncio.run_coroutine_threadsafe(free.wait(), loop).result())
    )
    await asyncio.sleep(0)
    with pytest.raises(Unavailable):
        await trail.record(RECORD)
    free.set()
    await busy
    # It was refused, so it is not written afterwards either.
    assert (await trail.query(AuditFilter())).records == ()


async def test_a_store_that_comes_up_later_is_used(tmp_path: Path) -> None:
    """As when the gateway starts before its database."""
    broken = tmp_path / "audit.sqlite3"
    broken.mkdir()
    database = AuditDatabase(sqlite_url(tmp_path))
    trail = make_trail(database)
    with pytest.raises(Unavailable):
        await database.check()
    with pytest.raises(Unavailable):
        await trail.record(numbered(1))
    broken.rmdir()
    await database.check()
    await trail.record(numbered(2))
    assert (await only_record(trail)).request_id == "r2"
    database.close()
