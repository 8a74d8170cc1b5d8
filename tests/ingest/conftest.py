"""Fixtures of everything that needs a registry on PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy.engine import make_url

from ingest_svc.registry.database import Database
from ingest_svc.registry.migrate import upgrade
from tests.ingest.postgres import PostgresServer, find_postgres, fresh_database, running_server


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """A server for the whole run; who stops it starts it again."""
    if find_postgres() is None:
        pytest.skip("PostgreSQL is not installed: no initdb on PATH or in /usr/lib/postgresql")
    with running_server() as server:
        yield server


@pytest.fixture(scope="session")
def postgres_template(postgres_server: PostgresServer) -> Iterator[str]:
    """Name of a database with an empty registry, migrated once."""
    with fresh_database(postgres_server.url) as url:
        database = Database(url)
        upgrade(database.engine)
        database.close()
        name = make_url(url).database
        assert name is not None
        yield name


@pytest.fixture
def postgres_url(postgres_server: PostgresServer, postgres_template: str) -> Iterator[str]:
    """URL of an empty registry on PostgreSQL, for one test."""
    with fresh_database(postgres_server.url, postgres_template) as url:
        yield url
