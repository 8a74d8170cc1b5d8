"""Fixtures of the audit store: on SQLite, and on PostgreSQL where it is installed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway.audit.database import AuditDatabase
from gateway.audit.trail import AuditTrail
from tests.gateway.audit.audit_kit import make_trail, sqlite_url
from tests.ingest.postgres import PostgresServer, find_postgres, fresh_database, running_server


@pytest.fixture(scope="session")
def audit_postgres() -> Iterator[PostgresServer]:
    """A server of its own; who stops it starts it again."""
    if find_postgres() is None:
        pytest.skip("PostgreSQL is not installed: no initdb on PATH or in /usr/lib/postgresql")
    with running_server() as server:
        yield server


@pytest.fixture
def audit_postgres_url(audit_postgres: PostgresServer) -> Iterator[str]:
    with fresh_database(audit_postgres.url) as url:
        yield url


@pytest.fixture
def database(tmp_path: Path) -> Iterator[AuditDatabase]:
    """On SQLite."""
    made = AuditDatabase(sqlite_url(tmp_path))
    yield made
    made.close()


@pytest.fixture(params=["sqlite", "postgresql"])
def any_database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[AuditDatabase]:
    """On each kind."""
    url = sqlite_url(tmp_path)
    if request.param == "postgresql":
        url = request.getfixturevalue("audit_postgres_url")
    made = AuditDatabase(url)
    yield made
    made.close()


@pytest.fixture
def trail(database: AuditDatabase) -> AuditTrail:
    return make_trail(database)
