"""Fixtures of the fault tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ingest_svc.registry.database import Database
from ingest_svc.registry.migrate import upgrade


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    """An empty registry on SQLite."""
    database = Database(f"sqlite:///{tmp_path / 'registry.sqlite3'}")
    upgrade(database.engine)
    yield database
    database.close()
