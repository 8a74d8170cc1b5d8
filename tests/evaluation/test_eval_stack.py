from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
from pathlib import Path

import pytest

from evaluation.stack import ephemeral_stack
from radref.errors import DeadlineExceeded, Unavailable

# What `up` promises: a ports file in one step, the services in the same session, SIGTERM stops it.
UP = """
import json, os, pathlib, signal, subprocess, sys, time
data, ports = sys.argv[2], pathlib.Path(sys.argv[4])
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
pathlib.Path(data, "pids").write_text(f"{os.getpid()} {child.pid}")
def stop(*_):
    child.terminate(); child.wait(); pathlib.Path(data, "stopped").write_text("yes"); sys.exit(0)
signal.signal(signal.SIGTERM, stop)
part = ports.with_suffix(".part")
part.write_text(json.dumps({"gateway": "127.0.0.1:1", "ingest": "127.0.0.1:2", "pid": os.getpid()}))
part.rename(ports)
while True: time.sleep(0.05)
"""


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


async def ended(pid: int) -> None:
    """A killed process needs a moment to go."""
    async with asyncio.timeout(30):
        while alive(pid):
            await asyncio.sleep(0.02)


def up(source: str) -> tuple[str, ...]:
    return (sys.executable, "-c", source)


async def test_it_starts_yields_addresses_and_stops(tmp_path: Path) -> None:
    async with ephemeral_stack(tmp_path, command=up(UP)) as addresses:
        assert (addresses.gateway, addresses.ingest) == ("127.0.0.1:1", "127.0.0.1:2")
        pids = [int(pid) for pid in (tmp_path / "pids").read_text(encoding="utf-8").split()]
        assert all(alive(pid) for pid in pids)
        assert os.getsid(pids[0]) != os.getsid(0)
    assert (tmp_path / "stopped").exists()
    for pid in pids:
        await ended(pid)


@pytest.mark.parametrize("error", [ValueError("defect"), DeadlineExceeded("slow"), asyncio.CancelledError()])
async def test_it_stops_on_errors_too(tmp_path: Path, error: BaseException) -> None:
    with pytest.raises(type(error)):
        async with ephemeral_stack(tmp_path, command=up(UP)):
            raise error
    assert (tmp_path / "stopped").exists()


async def test_a_temporary_data_folder_goes_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    async with ephemeral_stack(None, command=up(UP)):
        assert len(os.listdir(tmp_path)) == 1
    assert os.listdir(tmp_path) == []


async def test_a_failed_start_is_told_with_its_output(tmp_path: Path) -> None:
    source = "import sys; print('port is taken'); sys.exit(3)"
    with pytest.raises(Unavailable, match=r"did not start \(exit code 3\)(.|\n)*port is taken"):
        async with ephemeral_stack(tmp_path, command=up(source)):
            pass


async def test_a_start_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    source = UP.replace("part.rename(ports)", "")
    with pytest.raises(Unavailable, match="not ready"):
        async with ephemeral_stack(tmp_path, command=up(source), ready_seconds=0.5):
            pass
    if (tmp_path / "pids").exists():
        pids = [int(pid) for pid in (tmp_path / "pids").read_text(encoding="utf-8").split()]
        for pid in pids:
            await ended(pid)


async def test_a_system_that_dies_is_named_as_the_cause(tmp_path: Path) -> None:
    source = UP.replace("while True: time.sleep(0.05)", "print('out of memory', flush=True); os._exit(9)")
    pids = tmp_path / "pids"

    async def measure() -> None:
        async with ephemeral_stack(tmp_path, command=up(source)):
            while alive(int(pids.read_text(encoding="utf-8").split()[0])):
                await asyncio.sleep(0.02)
            await asyncio.sleep(0.1)
            raise Unavailable("the gateway service does not answer")

    with pytest.raises(
        Unavailable, match=r"ended during the measurement \(exit code 9\)(.|\n)*out of memory"
    ):
        await measure()
    await ended(int(pids.read_text(encoding="utf-8").split()[1]))


async def test_settings_reach_the_services_through_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RADREF_RETRIEVAL_PROFILE__NAME", "default")
    monkeypatch.setenv("RADREF_GATEWAY_RERANK", "true")
    shown = UP.replace(
        "def stop", 'pathlib.Path(data, "seen").write_text(json.dumps(dict(os.environ)))\ndef stop', 1
    )
    settings = {"retrieval.profile.name": "paper", "gateway.consult.profile": "paper"}
    async with ephemeral_stack(tmp_path, settings=settings, command=up(shown)):
        seen = json.loads((tmp_path / "seen").read_text(encoding="utf-8"))
    assert seen["RADREF_RETRIEVAL_PROFILE__NAME"] == seen["RADREF_GATEWAY_CONSULT__PROFILE"] == "paper"
    assert seen["RADREF_GATEWAY_RERANK"] == "true"
    assert os.environ["RADREF_RETRIEVAL_PROFILE__NAME"] == "default"
