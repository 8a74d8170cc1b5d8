"""One running stack for all end-to-end tests: the real four processes with the samples ingested."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from radref.cli.paths import Addresses, addresses_file, find_addresses
from radref.cli.uploading import Result, find_uploads, upload_all
from radref.client import RadrefClient

SAMPLES = Path(__file__).parents[2] / "samples" / "documents"
START_SECONDS = 240


@dataclass
class Running:
    """A `radref up` of its own."""

    process: subprocess.Popen[str]
    data_dir: Path
    results: list[Result] = field(default_factory=list)

    @property
    def addresses(self) -> Addresses:
        return find_addresses(self.data_dir)

    def client(self) -> RadrefClient:
        return RadrefClient(gateway=self.addresses.gateway, ingest=self.addresses.ingest)

    def cli(self, *arguments: str, timeout: float = 120) -> subprocess.CompletedProcess[str]:
        """Runs `radref ...` against this stack."""
        return subprocess.run(
            [sys.executable, "-m", "radref.cli.main", *arguments],
            env={**os.environ, "RADREF_DATA_DIR": str(self.data_dir), "COLUMNS": "200"},
            capture_output=True,
            text=True,
            timeout=timeout,
        )


def start(data_dir: Path, *options: str) -> Running:
    """Starts `radref up` with these options and waits until it serves."""
    process = subprocess.Popen(
        [sys.executable, "-m", "radref.cli.main", "up", "--data-dir", str(data_dir), *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    deadline = time.monotonic() + START_SECONDS
    while not addresses_file(data_dir).exists():
        if process.poll() is not None or time.monotonic() > deadline:
            process.kill()
            raise AssertionError(f"radref up did not start: {process.communicate()[0]}")
        time.sleep(0.1)
    return Running(process, data_dir)


def stop(running: Running) -> str:
    """Ends it as Ctrl-C does; returns what it printed."""
    running.process.terminate()
    try:
        return running.process.communicate(timeout=60)[0]
    except subprocess.TimeoutExpired:
        running.process.kill()
        raise


async def ingest(client: RadrefClient, *paths: Path, topic: str = "safety") -> list[Result]:
    uploads, problems = find_uploads(paths, topic=topic, language="")
    return [*problems, *[event async for event in upload_all(client, uploads) if isinstance(event, Result)]]


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A stack that holds the samples. Tests must leave it as they found it."""
    running = start(tmp_path_factory.mktemp("stack"))
    try:

        async def fill() -> list[Result]:
            async with running.client() as client:
                return await ingest(client, SAMPLES)

        running.results = asyncio.run(fill())
        yield running
    finally:
        stop(running)
