"""Tests with Docling itself. They need an environment of their own (`make test-docling`)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

# docling and torch are not in the main environment. Where this is set, everything runs.
if not os.environ.get("RADREF_TEST_DOCLING"):
    collect_ignore_glob = ["*"]


@pytest.fixture(scope="session")
def artifacts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tiny models; the layout model finds nothing, so the text lines of the PDF stand alone."""
    from tests.docling.tiny_models import write_artifacts

    return write_artifacts(tmp_path_factory.mktemp("artifacts") / "nothing")


@pytest.fixture(scope="session")
def table_artifacts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tiny models; the layout model takes each page for a table."""
    from tests.docling.tiny_models import write_artifacts

    return write_artifacts(tmp_path_factory.mktemp("artifacts") / "table", seen="table")


@pytest.fixture(scope="session")
def text_artifacts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tiny models; the layout model takes each page for a paragraph."""
    from tests.docling.tiny_models import write_artifacts

    return write_artifacts(tmp_path_factory.mktemp("artifacts") / "text", seen="text")
