"""The settings files that the documentation shows are accepted by every service."""

from __future__ import annotations

from importlib.metadata import entry_points
from pathlib import Path

import pytest

SETTINGS = sorted((Path(__file__).parents[2] / "samples" / "settings").glob("*.yaml"))


@pytest.mark.parametrize("path", SETTINGS, ids=lambda path: path.name)
def test_every_service_takes_the_sample(path: Path) -> None:
    loaded = {entry.name: entry.load().load(path) for entry in entry_points(group="radref.settings")}
    offered = {generator.id for generator in loaded["inference"].generators}
    assert set(loaded["gateway"].models) <= offered
    assert loaded["gateway"].rerank == (loaded["inference"].reranker.backend != "none")


def test_there_are_samples() -> None:
    assert len(SETTINGS) >= 4
