"""The store on both databases: what is kept, found, paged and refused."""

from __future__ import annotations

import asyncio
import os
import stat
from datetime import timedelta
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import text

from gateway.audit.database import AuditDatabase
from gateway.audit.engine import make_sqlite_file
from gateway.audit.feedback import FeedbackBox
from gateway.audit.migrate import VERSION_TABLE
from gateway.audit.model import AuditFilter, AuditRecord, Criterion, Feedback, FeedbackFilter
from gateway.audit.page_tokens import mark_of
from gateway.audit.tables import Base
from gateway.model import AbstentionReason, Outcome
from ingest_svc.registry.database import Database
from ingest_svc.registry.migrate import upgrade
from radref.errors import InvalidInput, PreconditionFailed, Unavailable
from tests.gateway.audit.audit_kit import IDS, NOW, RECORD, make_trail, numbered, sqlite_url
from tests.ingest.postgres import PASSWORD, PostgresServer, kill_connections

ABSTAINED = numbered(
    2,
    outcome=Outcome.ABSTAINED,
    abstention_reason=AbstentionReason.NO_VALID_CITATION,
    citation_ids=(),
    actor="Боб",
)
FAILED = AuditRecord("r3", NOW + timedelta(seconds=3), "ann", "Search", "", error_reason="TEXT_TOO_LONG")


async def test_what_is_recorded_comes_back(any_database: AuditDatabase) -> None:
    trail = make_trail(any_database)
    written = [numbered(1, query_text="Доза?"), ABSTAINED, FAILED]
    for record in written:
        await trail.record(record)
    page = await trail.query(AuditFilter())
    assert page.records == tuple(reversed(written))
    assert page.next_token == ""


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (AuditFilter(), [3, 2, 1]),
        (AuditFilter(since=NOW + timedelta(seconds=2)), [3, 2]),
        (AuditFilter(until=NOW + timedelta(seconds=2)), [1]),
        (AuditFilter(actor="ann"), [3, 1]),
        (AuditFilter(actor="Боб", until=NOW), []),
        (AuditFilter(citation_id=IDS[1]), [1]),
        # Shown, and not cited.
        (AuditFilter(citation_id=IDS[3]), []),
        (AuditFilter(request_id="r2"), [2]),
    ],
)
async def test_what_is_asked_for_is_found(
    any_database: AuditDatabase, wanted: AuditFilter, found: list[int]
) -> None:
    trail = make_trail(any_database)
    for record in (numbered(1), ABSTAINED, FAILED):
        await trail.record(record)
    page = await trail.query(wanted)
    assert [record.request_id for record in page.records] == [f"r{number}" for number in found]


async def test_pages_stay_as_they_were_while_records_come_in(any_database: AuditDatabase) -> None:
    trail = make_trail(any_database)
    # Three at a time in the same instant: the order of equal times must hold too.
    for number in range(12):
        await trail.record(numbered(number, at=NOW + timedelta(seconds=number // 3)))
    seen: list[str] = []
    token = ""
    for turn in range(9):
        page = await trail.query(AuditFilter(), size=5, token=token)
        seen += [record.request_id for record in page.records]
        token = page.next_token
        if not token:
            break
        await trail.record(numbered(100 + turn))
    assert seen == [f"r{number}" for number in reversed(range(12))]


async def test_a_last_page_that_is_full_has_no_next_one(any_database: AuditDatabase) -> None:
    trail = make_trail(any_database)
    for number in range(4):
        await trail.record(numbered(number))
    first = await trail.query(AuditFilter(), size=2)
    second = await trail.query(AuditFilter(), size=2, token=first.next_token)
    assert (len(first.records), len(second.records), second.next_token) == (2, 2, "")


@pytest.mark.parametrize(
    "token", ["x", "YXw=", "YXwxfDI=", "ZnwyMDI2LTAxLTAxVDAwOjAwOjAwKzAwOjAwfDE=", "\x00", "я", "=" * 9]
)
async def test_tokens_of_others_are_refused(token: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        mark_of("a", token)
    assert (caught.value.reason, caught.value.field) == ("INVALID_FIELD", "page_token")


async def test_sizes_of_pages_have_a_limit(database: AuditDatabase) -> None:
    trail = make_trail(database)
    await trail.query(AuditFilter(), size=1000)
    with pytest.raises(InvalidInput) as caught:
        await trail.query(AuditFilter(), size=1001)
    assert (caught.value.reason, caught.value.field) == ("OUT_OF_RANGE", "page_size")


async def test_many_write_at_once_and_none_is_lost(any_database: AuditDatabase) -> None:
    trail = make_trail(any_database)
    await asyncio.gather(*(trail.record(numbered(number)) for number in range(60)))
    page = await trail.query(AuditFilter())
    assert [record.request_id for record in page.records] == [f"r{number}" for number in reversed(range(60))]


async def test_two_processes_write_one_file(tmp_path: Path) -> None:
    databases = [AuditDatabase(sqlite_url(tmp_path)) for _ in range(2)]
    trails = [make_trail(database) for database in databases]
    await asyncio.gather(*(trails[number % 2].record(numbered(number)) for number in range(40)))
    assert len((await trails[0].query(AuditFilter())).records) == 40
    for database in databases:
        database.close()


async def test_a_new_file_is_in_wal_mode_before_anybody_opens_it(tmp_path: Path) -> None:
    file = tmp_path / "audit.sqlite3"
    make_sqlite_file(file)
    # Bytes 18 and 19 of the header: 2 = WAL (https://www.sqlite.org/fileformat.html).
    assert file.read_bytes()[18:20] == b"\x02\x02"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    before = file.stat().st_ino
    make_sqlite_file(file)
    assert file.stat().st_ino == before
    assert os.listdir(tmp_path) == [file.name]


async def test_a_request_id_used_twice_hides_nothing(any_database: AuditDatabase) -> None:
    trail = make_trail(any_database)
    await trail.record(numbered(1, request_id="same", actor="first"))
    await trail.record(numbered(2, request_id="same", actor="second"))
    page = await trail.query(AuditFilter(request_id="same"))
    assert [record.actor for record in page.records] == ["second", "first"]


async def test_the_tables_are_those_of_the_migrations(any_database: AuditDatabase) -> None:
    await any_database.open()
    with any_database.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE})
        assert compare_metadata(context, Base.metadata) == []


async def test_a_schema_of_a_newer_release_is_refused(tmp_path: Path) -> None:
    database = AuditDatabase(sqlite_url(tmp_path))
    await database.open()
    with database.engine.begin() as connection:
        connection.execute(text(f"UPDATE {VERSION_TABLE} SET version_num = '9999'"))
    database.close()
    database = AuditDatabase(sqlite_url(tmp_path))
    with pytest.raises(PreconditionFailed, match="newer release"):
        await database.open()
    database.close()


async def test_others_cannot_read_the_file(database: AuditDatabase, tmp_path: Path) -> None:
    await make_trail(database).record(RECORD)
    modes = {name: stat.S_IMODE(os.stat(tmp_path / name).st_mode) for name in os.listdir(tmp_path)}
    assert len(modes) >= 2
    assert set(modes.values()) == {0o600}


async def test_the_registry_may_live_in_the_same_database(audit_postgres_url: str) -> None:
    registry, audit = Database(audit_postgres_url), AuditDatabase(audit_postgres_url)
    upgrade(registry.engine)
    await make_trail(audit).record(RECORD)
    upgrade(registry.engine)
    assert (await make_trail(audit).query(AuditFilter())).records == (RECORD,)
    registry.close()
    audit.close()


async def test_processes_that_start_together_migrate_once(audit_postgres_url: str) -> None:
    databases = [AuditDatabase(audit_postgres_url) for _ in range(3)]
    assert len(set(await asyncio.gather(*(database.open() for database in databases)))) == 1
    for database in databases:
        database.close()


async def test_killed_connections_are_replaced(audit_postgres_url: str) -> None:
    database = AuditDatabase(audit_postgres_url)
    trail = make_trail(database)
    for number in range(3):
        await trail.record(numbered(number))
        await asyncio.to_thread(kill_connections, audit_postgres_url)
    assert len((await trail.query(AuditFilter())).records) == 3
    database.close()


async def test_a_server_that_is_away_is_told_and_used_again(
    audit_postgres: PostgresServer, audit_postgres_url: str
) -> None:
    database = AuditDatabase(audit_postgres_url)
    trail, box = make_trail(database), FeedbackBox(database)
    await trail.record(numbered(1))
    await asyncio.to_thread(audit_postgres.stop)
    try:
        with pytest.raises(Unavailable) as caught:
            await trail.record(numbered(2))
        assert caught.value.metadata["backend"] == "audit"
        with pytest.raises(Unavailable) as asked:
            await trail.query(AuditFilter())
        assert PASSWORD not in f"{caught.value}{asked.value}{asked.value.metadata}"
    finally:
        # In this thread: the server ends with the thread that started it.
        audit_postgres.start()
    await trail.record(numbered(3))
    await box.submit(Feedback("r3", ratings=((Criterion.CLARITY, 3),)), "ann")
    assert [record.request_id for record in (await trail.query(AuditFilter())).records] == ["r3", "r1"]
    assert len((await box.page(FeedbackFilter())).entries) == 1
    database.close()
