"""Processes that die: what callers see, and that everything comes back by itself."""

import asyncio
import os
import signal
import time
from pathlib import Path

import psutil
import pytest

from radref.api.common.v1 import documents_pb2
from radref.api.gateway.v1 import answer_pb2
from radref.cli.stack import MODULES
from radref.errors import Unavailable
from tests.e2e.conftest import SAMPLES, Running, ingest, start, stop

pytestmark = pytest.mark.e2e

QUESTION = "How much may the eyes of an adult radiographer receive per year?"
RECOVERY_SECONDS = 60


def service_pid(running: Running, name: str) -> int:
    children = psutil.Process(running.process.pid).children()
    return next(child.pid for child in children if MODULES[name] in child.cmdline())


async def test_kill_9_of_retrieval_gives_clear_errors_and_recovers(tmp_path: Path) -> None:
    running = start(tmp_path)
    try:
        async with running.client() as client:
            await ingest(client, SAMPLES / "safety-dose-limits.md", SAMPLES / "safety-mr-access-zones.html")
            before = await client.generate(QUESTION)
            assert before.outcome == answer_pb2.OUTCOME_ANSWERED
            for _ in range(2):
                os.kill(service_pid(running, "retrieval"), signal.SIGKILL)
                failures: list[Unavailable] = []
                recovered = None
                deadline = time.monotonic() + RECOVERY_SECONDS
                while recovered is None and time.monotonic() < deadline:
                    try:
                        answer = await client.generate(QUESTION)
                    except Unavailable as exc:
                        failures.append(exc)
                        await asyncio.sleep(0.05)
                    else:
                        # Right after the kill a call may still be answered by the dying process.
                        recovered = answer if failures else None
                assert recovered is not None, "no recovery"
                assert {exc.reason for exc in failures} <= {"BACKEND_UNAVAILABLE", "NOT_READY"}
                assert all("retrieval" in exc.message for exc in failures)
                assert recovered.statements == before.statements
    finally:
        output = stop(running)
    assert "retrieval restarted" in output


async def test_kill_9_of_ingest_while_it_works_loses_nothing(tmp_path: Path) -> None:
    running = start(tmp_path)
    try:
        async with running.client() as client:
            paths = sorted(SAMPLES.glob("*.md"))
            for path in paths:
                metadata = documents_pb2.DocumentMetadata(topic="safety")
                await client.submit_file(path.read_bytes(), path.name, metadata)
            os.kill(service_pid(running, "ingest"), signal.SIGKILL)
            deadline = time.monotonic() + RECOVERY_SECONDS
            states: list[int] = []
            while time.monotonic() < deadline:
                try:
                    states = [document.state async for document in client.list_documents()]
                except Unavailable:
                    states = []
                if len(states) == len(paths) and set(states) == {documents_pb2.DOCUMENT_STATE_INDEXED}:
                    break
                await asyncio.sleep(0.1)
            assert states == [documents_pb2.DOCUMENT_STATE_INDEXED] * len(paths)
    finally:
        stop(running)


def test_up_ends_with_its_children_also_when_it_is_killed(tmp_path: Path) -> None:
    running = start(tmp_path)
    children = psutil.Process(running.process.pid).children()
    assert len(children) == len(MODULES)
    running.process.kill()
    running.process.communicate()
    _, alive = psutil.wait_procs(children, timeout=30)
    for process in alive:
        process.kill()
    assert alive == []


def test_a_second_stack_on_the_same_data_is_refused(stack: Running) -> None:
    done = stack.cli("up", "--data-dir", str(stack.data_dir), timeout=120)
    assert done.returncode == 1
    assert "in use" in done.stderr
