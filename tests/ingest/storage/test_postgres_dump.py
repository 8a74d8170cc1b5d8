"""pg_dump and pg_restore of docs/operations.md: registry, uploads, job queue, audit trail in one database."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from sqlalchemy import inspect
from sqlalchemy.engine import make_url

from gateway.audit.database import AuditDatabase
from gateway.audit.model import AuditFilter
from ingest_svc.blobs.database import PART_BYTES, DatabaseBlobs
from ingest_svc.jobs.durable.workflows import make_tables
from ingest_svc.lifecycle import DocumentState
from ingest_svc.queries import get_passage
from ingest_svc.registry.database import Database
from ingest_svc.registry.migrate import upgrade
from tests.gateway.audit.audit_kit import RECORD, make_trail
from tests.ingest.curation.desk import Desk, passage_of
from tests.ingest.postgres import PostgresServer, fresh_database

OPERATIONS = Path(__file__).parents[3] / "docs/operations.md"
# More than one row.
UPLOAD = b"\x00scan " * PART_BYTES


def documented(marker: str, dump: Path, url: str) -> list[str]:
    """The command below `<!-- test: MARKER -->`, with the test's file and database put in."""
    block = re.search(
        rf"<!-- test: {marker} -->\n```sh\n(.*?)^```", OPERATIONS.read_text("utf-8"), re.S | re.M
    )
    assert block, f"docs/operations.md has no block {marker}"
    text = block[1].replace("\\\n", " ")
    for place, value in (("/srv/backup/radref-2026-12-01.dump", str(dump)), ("$RADREF_DATABASE", url)):
        assert place in text
        text = text.replace(place, value)
    return shlex.split(text)


def run(command: list[str], url: str) -> None:
    address = make_url(url)
    # Not on the command line, where every user of the machine can read it.
    done = subprocess.run(
        command,
        env={**os.environ, "PGPASSWORD": str(address.password)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr


def without_password(url: str) -> str:
    address = make_url(url)
    return f"postgresql://{address.username}@{address.host}:{address.port}/{address.database}"


async def keep(database: Database, folder: Path) -> str:
    async with DatabaseBlobs(database, folder).new_blob() as blob:
        await blob.write(UPLOAD)
        await blob.keep()
        return blob.sha256


async def test_a_dump_holds_everything(
    postgres_server: PostgresServer, postgres_url: str, tmp_path: Path
) -> None:
    if shutil.which("pg_dump") is None or shutil.which("pg_restore") is None:
        pytest.skip("pg_dump and pg_restore (postgresql-client) are not on PATH")
    dump = tmp_path / "radref.dump"
    database, audit = Database(postgres_url), AuditDatabase(postgres_url)
    try:
        desk = Desk(database, tmp_path)
        await desk.live("one", "law")
        await desk.replace("law", "two")
        await desk.through("law", 2)
        await desk.submit("three", "waits")
        await desk.parsed("waits", 1)
        kept = await keep(database, tmp_path)
        make_tables(make_url(postgres_url))
        await audit.open()
        trail = make_trail(audit)
        await trail.record(RECORD)
        history = await desk.trail("law")
        # While services run on it: the dump is one moment of the database.
        run(documented("pg-dump", dump, without_password(postgres_url)), postgres_url)
        await desk.submit("four", "later")
    finally:
        audit.close()
        database.close()

    with fresh_database(postgres_server.url, "template0") as fresh:
        run(documented("pg-restore", dump, without_password(fresh)), fresh)
        restored, audit_again = Database(fresh), AuditDatabase(fresh)
        try:
            upgrade(restored.engine)
            assert {"dbos", "public"} <= set(inspect(restored.engine).get_schema_names())
            desk = Desk(restored, tmp_path)
            assert await desk.states("law") == ["superseded", "indexed"]
            assert await desk.trail("law") == history
            old = await get_passage(restored, passage_of("law", 1).citation_id)
            assert old.state is DocumentState.SUPERSEDED
            found = await DatabaseBlobs(restored, tmp_path).read(kept)
            assert hashlib.sha256(found).hexdigest() == hashlib.sha256(UPLOAD).hexdigest()
            await audit_again.open()
            page = await make_trail(audit_again).query(AuditFilter())
            assert list(page.records) == [RECORD]
            # Work goes on, and numbers of rows go on where they were.
            await desk.approve("waits", 1)
            await desk.indexed("waits", 1)
            await make_trail(audit_again).record(RECORD)
            assert (await desk.submit("four", "later")).version == 1
        finally:
            audit_again.close()
            restored.close()
