from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.retrieval.retrieval_kit import Kit, open_store


@pytest.fixture
async def kit(tmp_path: Path) -> AsyncIterator[Kit]:
    store = await open_store(tmp_path / "index")
    made = Kit(store)
    await made.index.load()
    yield made
    await store.close()
