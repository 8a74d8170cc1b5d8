"""The registry on PostgreSQL: writes of several processes, lost connections, migrations, errors."""

from __future__ import annotations

import asyncio
import sys
import threading
import traceback
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.orm import Session

from ingest_svc.blobs.database import DatabaseBlobs
from ingest_svc.data_dir import DataDir
from ingest_svc.metadata import DocumentMetadata
from ingest_svc.registry import audit, documents, jobs, versions
from ingest_svc.registry.database import Database
from ingest_svc.registry.database_url import parse_database_url
from ingest_svc.registry.migrate import upgrade
from ingest_svc.registry.models import DocumentRow
from ingest_svc.submission import Submission
from ingest_svc.uploads.header import UploadLimits
from radref.errors import Internal, InvalidInput, PreconditionFailed, RadrefError, Unavailable
from tests.ingest.postgres import PASSWORD, PostgresServer, fresh_database, kill_connections
from tests.ingest.service.ingest_stack import TOPICS, upload

ROOT = Path(__file__).parents[3]
NOW = datetime(2026, 1, 2, tzinfo=UTC)
TEXT, SHA = "a patient's name", "a" * 64
COUNTING = """
import asyncio, sys
from ingest_svc.registry.database import Database
from ingest_svc.registry.models import DocumentRow

def count(session):
    session.get_one(DocumentRow, "doc").newest_version += 1

async def work():
    database = Database(sys.argv[1])
    for _ in range(30):
        await database.write(count)
    database.close()

asyncio.run(work())
"""


@pytest.fixture
def pair(postgres_url: str) -> Iterator[tuple[Database, Database]]:
    """Two registries on one PostgreSQL: to the server, two processes."""
    first, second = Database(postgres_url), Database(postgres_url)
    yield first, second
    first.close()
    second.close()


def add(session: Session, document_id: str = "doc", sha256: str = SHA, title: str = "") -> None:
    versions.add_version(
        session,
        document_id=document_id,
        sha256=sha256,
        size_bytes=1,
        file_name="f.md",
        metadata=DocumentMetadata(topic="safety", title=title),
        now=NOW,
    )


def count(session: Session) -> int:
    """Reads, and writes one more: lost updates would show."""
    row = session.get_one(DocumentRow, "doc")
    row.newest_version += 1
    return row.newest_version


def told(error: BaseException) -> str:
    """Everything a log could show of an error."""
    return "".join(traceback.format_exception(error)) + str(getattr(error, "metadata", ""))


@pytest.mark.parametrize(
    ("given", "driver"),
    [
        ("sqlite:////var/lib/radref/registry.sqlite3", "sqlite"),
        ("postgresql://u:p@db/radref", "postgresql+psycopg"),
        ("postgres://u:p@db:5433/radref?sslmode=verify-full", "postgresql+psycopg"),
        ("postgresql+psycopg:///radref?host=/run/postgresql", "postgresql+psycopg"),
    ],
)
def test_urls_of_a_registry(given: str, driver: str):
    assert parse_database_url(given).drivername == driver


@pytest.mark.parametrize(
    "given",
    [
        "",
        "sqlite://",
        "sqlite:///:memory:",
        "postgresql://u:hidden@db",
        "postgresql+psycopg2://u:hidden@db/radref",
        "mysql://u:hidden@db/radref",
        "postgresql://u:hidden@db:port/radref",
        "u:hidden@db/radref",
    ],
)
def test_other_urls_are_refused_without_repeating_them(given: str):
    with pytest.raises(ValueError, match=r"registry|database URL") as caught:
        Database(given)
    assert "hidden" not in told(caught.value)


async def test_writes_of_two_processes_lose_no_update(postgres_url: str, pair: tuple[Database, Database]):
    await pair[0].write(add)
    processes = [
        await asyncio.create_subprocess_exec(sys.executable, "-c", COUNTING, postgres_url, cwd=ROOT)
        for _ in range(2)
    ]
    assert [await process.wait() for process in processes] == [0, 0]
    assert await pair[1].write(count) == 1 + 2 * 30 + 1


async def test_the_same_upload_in_two_processes_is_indexed_once(
    pair: tuple[Database, Database], tmp_path: Path
):
    limits = UploadLimits(max_bytes=1_000_000, topics=TOPICS)
    submissions = [
        Submission(
            database=database, blobs=DatabaseBlobs(database, tmp_path), limits=limits, wake=lambda: None
        )
        for database in pair
    ]
    for number in range(5):
        data = f"# Приказ {number}".encode()
        answers = await asyncio.gather(*(each.submit(upload(data)) for each in submissions * 2))
        assert sorted(answer.duplicate for answer in answers) == [False, True, True, True]
        assert len({answer.document_id for answer in answers}) == 1
    waiting, _ = await pair[1].read(jobs.queue_figures)
    assert waiting == 5
    events, _ = await pair[0].read(
        lambda session: audit.list_events(session, document_id="", limit=99, before=None)
    )
    assert [event.action for event in events] == ["submitted"] * 5


async def test_no_job_is_claimed_twice(pair: tuple[Database, Database]):
    def fill(session: Session) -> None:
        for number in range(8):
            add(session, f"doc{number}", f"{number}" * 64)
            jobs.add_job(session, job_id=f"job{number}", document_id=f"doc{number}", version=1, now=NOW)

    await pair[0].write(fill)

    async def claim(database: Database, worker: str, job_id: str) -> str | None:
        job = await database.write(
            lambda session: jobs.claim(session, job_id, 1, worker=worker, alive={"a", "b"}, now=NOW)
        )
        return job.id if job else None

    claimed = await asyncio.gather(
        *(claim(pair[turn], "ab"[turn], f"job{number}") for number in range(8) for turn in (0, 1))
    )
    assert sorted(filter(None, claimed)) == [f"job{number}" for number in range(8)]


async def test_reads_see_one_moment_and_change_nothing(pair: tuple[Database, Database]):
    first, second = pair
    await first.write(add)
    seen, go_on = threading.Event(), threading.Event()

    def twice(session: Session) -> tuple[int, int]:
        before = session.get_one(DocumentRow, "doc").newest_version
        seen.set()
        assert go_on.wait(30)
        session.expire_all()
        return before, session.get_one(DocumentRow, "doc").newest_version

    reading = asyncio.create_task(first.read(twice))
    assert await asyncio.to_thread(seen.wait, 30)
    await second.write(count)
    go_on.set()
    assert await reading == (1, 1)
    with pytest.raises(RadrefError):
        await first.read(count)
    assert await first.read(lambda session: session.get_one(DocumentRow, "doc").newest_version) == 2


async def test_a_write_that_waits_too_long_is_unavailable_and_others_pass_by(
    postgres_url: str, pair: tuple[Database, Database]
):
    hasty = Database(postgres_url, busy_timeout_ms=20)
    # Beginning takes the lock of all writes.
    with pair[0].engine.begin():
        with pytest.raises(Unavailable) as caught:
            await hasty.write(add)
        await hasty.write_apart(add)
        await hasty.check()
    assert caught.value.metadata == {"cause": "LockNotAvailable", "sqlstate": "55P03"}
    hasty.close()


async def test_killed_connections_cost_the_transaction_in_progress_only(
    postgres_url: str, pair: tuple[Database, Database]
):
    database = pair[0]
    await database.write(add)
    for _ in range(3):
        await asyncio.gather(*(database.check() for _ in range(4)))
        assert await asyncio.to_thread(kill_connections, postgres_url) >= 2
        assert await database.write(count)
        await database.check()

    def interrupted(session: Session) -> None:
        count(session)
        session.flush()
        kill_connections(postgres_url)
        session.execute(text("SELECT 1"))

    before = await database.write(count)
    with pytest.raises(Unavailable) as caught:
        await database.write(interrupted)
    assert PASSWORD not in told(caught.value)
    assert await database.write(count) == before + 1


async def test_a_connection_that_dies_in_the_commit_is_told(
    postgres_url: str, pair: tuple[Database, Database]
):
    def work(session: Session) -> None:
        add(session)
        kill_connections(postgres_url)

    with pytest.raises(Unavailable):
        await pair[0].write(work)
    assert await pair[0].read(lambda session: documents.find_document(session, "doc")) is None


async def test_a_restarted_server_is_used_again(postgres_server: PostgresServer, postgres_url: str):
    database = Database(postgres_url)
    await database.write(add)
    await asyncio.to_thread(postgres_server.stop)
    try:
        with pytest.raises(Unavailable) as caught:
            await database.write(count)
        assert caught.value.metadata["detail"] == "connection refused"
        assert PASSWORD not in told(caught.value)
    finally:
        # In this thread: the server ends with the thread that started it.
        postgres_server.start()
    assert await database.write(count) == 2
    database.close()


def test_a_wrong_password_is_named_and_not_shown(postgres_url: str):
    database = Database(postgres_url.replace(PASSWORD, "wrong-password"))
    with pytest.raises(Unavailable) as caught:
        upgrade(database.engine)
    assert caught.value.metadata["detail"] == "authentication failed"
    assert "wrong-password" not in told(caught.value) + repr(database.engine)
    database.close()


async def test_values_that_the_database_cannot_hold_are_refused_without_showing_them(
    pair: tuple[Database, Database],
):
    for title in (f"{TEXT} \0", TEXT * 100):
        with pytest.raises(InvalidInput) as caught:
            await pair[0].write(lambda session, title=title: add(session, title=title))
        assert TEXT not in told(caught.value)
    await pair[0].write(lambda session: add(session, title=TEXT))
    with pytest.raises(Internal) as refused:
        await pair[0].write(lambda session: add(session, "other", title=TEXT))
    assert refused.value.metadata["constraint"] == "uq_versions_held_sha256"
    assert TEXT not in told(refused.value)
    assert SHA not in told(refused.value)


async def test_connections_have_their_limits(pair: tuple[Database, Database]):
    names = ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout", "timezone")

    def limits(session: Session) -> list[str]:
        return [session.execute(text(f"SHOW {name}")).scalar_one() for name in names]

    assert await pair[0].write(limits) == ["1min", "10s", "1min", "UTC"]


def test_processes_that_start_together_migrate_once(postgres_server: PostgresServer):
    with fresh_database(postgres_server.url) as url:
        reached: list[str] = []

        def start() -> None:
            database = Database(url)
            reached.append(upgrade(database.engine))
            database.close()

        threads = [threading.Thread(target=start) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(reached) == 3
    assert len(set(reached)) == 1


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_schema_of_a_newer_release_is_refused(kind: str, request: pytest.FixtureRequest, tmp_path: Path):
    if kind == "sqlite":
        database = Database(f"sqlite:///{tmp_path / 'r.sqlite3'}")
        upgrade(database.engine)
    else:
        database = Database(request.getfixturevalue("postgres_url"))
    with database.engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(PreconditionFailed, match="newer release"):
        upgrade(database.engine)
    database.close()


def test_a_database_that_cannot_hold_all_letters_is_refused(postgres_server: PostgresServer):
    with fresh_database(postgres_server.url, "template0", encoding="SQL_ASCII") as url:
        database = Database(url)
        with pytest.raises(PreconditionFailed, match="ENCODING 'UTF8'"):
            upgrade(database.engine)
        database.close()


def test_workers_on_postgresql_may_share_a_folder(tmp_path: Path):
    with DataDir(tmp_path / "new", exclusive=False) as first, DataDir(first.root, exclusive=False) as second:
        assert second.incoming.is_dir()
        assert (first.root.stat().st_mode & 0o777) == 0o700
