"""Tests against the real tritonserver. They need an environment of their own (`make test-triton`)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.triton.frida_reference import FridaReference
    from tests.triton.triton_server import TritonServer

# torch, transformers and tritonserver are not in the main environment. Where this is set, everything runs.
if not os.environ.get("RADREF_TEST_TRITON"):
    collect_ignore_glob = ["*"]


@pytest.fixture(scope="session")
def tiny_frida(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with FRIDA's architecture in small."""
    from tests.triton.tiny_t5 import write_tiny_frida

    return write_tiny_frida(tmp_path_factory.mktemp("models") / "frida")


@pytest.fixture(scope="session")
def frida_reference(tiny_frida: Path) -> FridaReference:
    from tests.triton.frida_reference import FridaReference

    return FridaReference(tiny_frida)


@pytest.fixture(scope="session")
def triton_server(tiny_frida: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TritonServer]:
    """The server with the whole repository of this checkout."""
    from tests.triton.tiny_qwen3 import write_tiny_reranker
    from tests.triton.triton_server import running_triton

    reranker = write_tiny_reranker(tmp_path_factory.mktemp("models") / "reranker")
    directories = {
        "RADREF_TRITON_FRIDA_DIR": str(tiny_frida),
        "RADREF_TRITON_QWEN3_RERANKER_DIR": str(reranker),
    }
    with running_triton(tmp_path_factory.mktemp("triton"), directories) as server:
        try:
            yield server
        finally:
            # pytest shows it with the tests that failed.
            print(server.log_text())
