"""Fixtures of the curators' tests."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from ingest_svc.registry.database import Database
from ingest_svc.registry.migrate import upgrade
from tests.ingest.curation.desk import Desk


@pytest.fixture(scope="session")
def empty_registry(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty registry, migrated once for all tests."""
    path = tmp_path_factory.mktemp("registry") / "registry.sqlite3"
    database = Database(f"sqlite:///{path}")
    upgrade(database.engine)
    database.close()
    return path


@pytest.fixture
def database(tmp_path: Path, empty_registry: Path) -> Iterator[Database]:
    database = Database(f"sqlite:///{shutil.copy(empty_registry, tmp_path)}")
    yield database
    database.close()


@pytest.fixture
def desk(database: Database, tmp_path: Path) -> Desk:
    return Desk(database, tmp_path / "blobs")
