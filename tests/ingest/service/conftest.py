"""Fixtures of the ingest service's tests."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from sqlalchemy.engine import make_url

from ingest_svc.jobs.durable.workflows import make_tables
from ingest_svc.registry.database import Database
from ingest_svc.registry.migrate import upgrade
from tests.ingest.service.ingest_client import Client, Upkeep, serving_ingest
from tests.ingest.service.ingest_stack import Stack, running_stack


@pytest.fixture(scope="session")
def migrated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty registry, migrated once for all tests."""
    path = tmp_path_factory.mktemp("registry") / "registry.sqlite3"
    database = Database(f"sqlite:///{path}")
    upgrade(database.engine)
    database.close()
    return path


@pytest.fixture(scope="session")
def with_queue(tmp_path_factory: pytest.TempPathFactory, migrated: Path) -> Path:
    """An empty registry that has been worked on: the tables of the job queue are there, too."""
    path = shutil.copy(migrated, tmp_path_factory.mktemp("queue") / "registry.sqlite3")
    make_tables(make_url(f"sqlite:///{path}"))
    return Path(path)


@pytest.fixture
def database(tmp_path: Path, with_queue: Path) -> Iterator[Database]:
    path = shutil.copy(with_queue, tmp_path / "registry.sqlite3")
    database = Database(f"sqlite:///{path}")
    yield database
    database.close()


@pytest.fixture
async def stack(database: Database, tmp_path: Path) -> AsyncIterator[Stack]:
    async with running_stack(database, tmp_path) as made:
        yield made


@pytest.fixture
def upkeep() -> Upkeep:
    return Upkeep()


@pytest.fixture
async def client(stack: Stack, upkeep: Upkeep) -> AsyncIterator[Client]:
    async with serving_ingest(stack, upkeep) as made:
        yield made
