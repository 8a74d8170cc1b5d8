"""A system of its own for one measurement: `radref up` as a child process, ended with the measurement."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from radref.errors import RadrefError, Unavailable

UP_COMMAND = (sys.executable, "-m", "radref.cli.main", "up")
# The first start converts model weights, which takes about a minute on two slow cores.
READY_SECONDS = 300.0
# Longer than the services' own drain.
STOP_SECONDS = 40.0
_POLL_SECONDS = 0.05
_LOG_TAIL_LINES = 15
# Who measures says how many calls are in flight; none is refused for want of processors.
_UNSIZED = {"RADREF_GATEWAY_MAX_MODEL_CALLS": "0"}


@dataclass(frozen=True)
class Addresses:
    """host:port of the public services."""

    gateway: str
    ingest: str


@asynccontextmanager
async def ephemeral_stack(
    data_dir: Path | None,
    *,
    settings: Mapping[str, str] | None = None,
    command: Sequence[str] = UP_COMMAND,
    ready_seconds: float = READY_SECONDS,
) -> AsyncIterator[Addresses]:
    """Starts all services, yields their addresses once they serve, stops them at the end.

    Args:
        data_dir: where the system keeps its data; None = a temporary folder that is removed at the end.
        settings: what differs from the settings of the environment, by path, e.g.
            "retrieval.profile.name".
        command: what starts the system; gets `--data-dir DIR --ports-file FILE`.
        ready_seconds: longest wait until it serves.

    Raises:
        Unavailable: it does not start, or ended by itself in the meantime. The message holds the end of
            its output.
    """
    with tempfile.TemporaryDirectory(prefix="radref-eval-") as scratch:
        home = data_dir or Path(scratch) / "data"
        home.mkdir(parents=True, exist_ok=True)
        ports_file, log = Path(scratch) / "ports.json", Path(scratch) / "up.log"
        with log.open("wb") as output:
            # A session of its own: Ctrl-C reaches only us, and we stop it in order.
            process = await asyncio.create_subprocess_exec(
                *command,
                "--data-dir",
                str(home),
                "--ports-file",
                str(ports_file),
                "--parent-pid",
                str(os.getpid()),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output,
                stderr=asyncio.subprocess.STDOUT,
                env=_UNSIZED | os.environ | _environment(settings or {}),
                start_new_session=True,
            )
        try:
            addresses = await _ready(process, ports_file, log, ready_seconds)
            try:
                yield addresses
            except RadrefError as error:
                if process.returncode is None:
                    raise
                message = _ended_message("The system ended during the measurement", process, log)
                raise Unavailable(message) from error
        finally:
            await _stop(process)


def _environment(settings: Mapping[str, str]) -> dict[str, str]:
    """Settings by path as the services' environment: RADREF_SECTION_FIELD, "__" before a nested field."""
    variables = {}
    for path, value in settings.items():
        section, _, fields = path.partition(".")
        variables[f"RADREF_{section}_{fields.replace('.', '__')}".upper()] = value
    return variables


async def _ready(
    process: asyncio.subprocess.Process, ports_file: Path, log: Path, ready_seconds: float
) -> Addresses:
    try:
        async with asyncio.timeout(ready_seconds):
            while (addresses := _addresses(ports_file)) is None:
                if process.returncode is not None:
                    raise Unavailable(_ended_message("The system did not start", process, log))
                await asyncio.sleep(_POLL_SECONDS)
    except TimeoutError:
        raise Unavailable(
            f"The system was not ready after {ready_seconds:.0f} s; the end of its output:\n{_tail(log)}"
        ) from None
    return addresses


def _addresses(ports_file: Path) -> Addresses | None:
    """The file appears in one step, once everything serves."""
    if not ports_file.exists():
        return None
    ports = json.loads(ports_file.read_text(encoding="utf-8"))
    return Addresses(gateway=ports["gateway"], ingest=ports["ingest"])


async def _stop(process: asyncio.subprocess.Process) -> None:
    """SIGTERM, then SIGKILL for the whole session when that does not help."""
    try:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.terminate()
            async with asyncio.timeout(STOP_SECONDS):
                await process.wait()
    except TimeoutError:
        pass
    finally:
        # Also after a second Ctrl-C, and for services that outlived `up`.
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def _ended_message(what: str, process: asyncio.subprocess.Process, log: Path) -> str:
    return f"{what} (exit code {process.returncode}); the end of its output:\n{_tail(log)}"


def _tail(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    return "\n".join(lines[-_LOG_TAIL_LINES:]) or "(nothing)"
