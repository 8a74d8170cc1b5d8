from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.retrieval.retrieval_kit import Kit, open_kit


@pytest.fixture
async def kit(tmp_path: Path) -> AsyncIterator[Kit]:
    made = await open_kit(tmp_path / "index")
    yield made
    await made.close()
