"""Real vLLM servers with tiny checkpoints. Nothing here is collected unless RADREF_TEST_VLLM is set.

RADREF_VLLM_PYTHON names the interpreter that has vLLM; without it, the one in .venv-vllm is taken.
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

from tests.vllm.server import VllmServer

ROOT = Path(__file__).parents[2]
WINDOW = 4096
# Qwen3-Reranker is a language model; so vLLM keeps what its head says of "yes" and "no" only.
RERANKER = (
    *("--runner", "pooling", "--hf-overrides"),
    '{"architectures": ["Qwen3ForSequenceClassification"], "classifier_from_token": ["no", "yes"], '
    '"is_original_qwen3_reranker": true}',
)

collect_ignore_glob = [] if os.environ.get("RADREF_TEST_VLLM") else ["test_*.py"]

_servers = pytest.StashKey[dict[str, VllmServer]]()


@pytest.fixture(scope="session")
def vllm_python() -> Path:
    return Path(os.environ.get("RADREF_VLLM_PYTHON") or ROOT / ".venv-vllm" / "bin" / "python")


@pytest.fixture(scope="session")
def scratch() -> Iterator[Path]:
    # Not pytest's own: the path of a Unix socket has to be short.
    with tempfile.TemporaryDirectory(prefix="radref-vllm-", ignore_cleanup_errors=True) as directory:
        yield Path(directory)


@pytest.fixture(scope="session")
def checkpoints(vllm_python: Path, scratch: Path) -> Path:
    """Directory with `generator` and `reranker`."""
    command = [str(vllm_python), "-m", "tests.vllm.tiny_checkpoints", str(scratch)]
    subprocess.run(command, cwd=ROOT, check=True, timeout=300)
    return scratch


@pytest.fixture(scope="session")
def starting(
    request: pytest.FixtureRequest, vllm_python: Path, checkpoints: Path, scratch: Path
) -> Iterator[dict[str, VllmServer]]:
    """The servers that this run needs, all starting at once: most of a start is waiting for one core."""
    # As docs/models.md starts them, but for their size.
    window = ("--max-model-len", str(WINDOW))
    sampling = ("--generation-config", "vllm")
    servers = {
        "generator_server": VllmServer(
            vllm_python, checkpoints / "generator", "qwen3-30b-a3b", scratch, (*window, *sampling)
        ),
        "reranker_server": VllmServer(
            vllm_python, checkpoints / "reranker", "qwen3-reranker", scratch, (*window, *RERANKER)
        ),
    }
    used = {name for item in request.session.items for name in getattr(item, "fixturenames", ())}
    needed = {name: server for name, server in servers.items() if name in used}
    request.config.stash[_servers] = needed
    # A run that is told to end, as by a time limit of CI, ends its servers too.
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        for server in needed.values():
            server.start()
        yield needed
    finally:
        for server in needed.values():
            server.stop()
        signal.signal(signal.SIGTERM, before)


@pytest.fixture(scope="session")
def generator_server(starting: dict[str, VllmServer]) -> VllmServer:
    """A ready server with a Qwen3-MoE. Who ends it starts it again."""
    starting["generator_server"].wait_ready()
    return starting["generator_server"]


@pytest.fixture(scope="session")
def reranker_server(starting: dict[str, VllmServer]) -> VllmServer:
    """A ready server with a Qwen3-Reranker, started without a chat template."""
    starting["reranker_server"].wait_ready()
    return starting["reranker_server"]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Adds what the servers said last to the report of a failure."""
    report = yield
    if report.failed:
        for name, server in item.config.stash.get(_servers, {}).items():
            report.sections.append((f"end of the log of {name}", server.log_tail()))
    return report
