"""What is done to a service."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum

from radref.cli.stack import Stack, serving

PAUSE_SECONDS = 10.0
SLOW_SECONDS = 10.0
# Of every tenth of a second a slowed process runs a fifth.
_SLICE_SECONDS = 0.1
_RUNNING_SHARE = 0.2
_POLL_SECONDS = 0.05
_BACK_SECONDS = 120.0


class FaultKind(StrEnum):
    """How a process fails."""

    KILLED = "killed"
    PAUSED = "paused"
    SLOWED = "slowed"


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault of one service."""

    service: str
    kind: FaultKind


@dataclass(frozen=True, slots=True)
class Outage:
    """When the fault began and when the service itself was back, seconds on the clock of perf_counter."""

    began: float
    back: float


async def inject(stack: Stack, fault: Fault) -> Outage:
    """Does it and returns when the service itself is back: SERVING again, or running freely.

    Raises:
        TimeoutError: it did not come back within two minutes.
    """
    pid = stack.pids()[fault.service]
    began = time.perf_counter()
    match fault.kind:
        case FaultKind.KILLED:
            os.kill(pid, signal.SIGKILL)
            await _serving_again(stack, fault.service, pid)
        case FaultKind.PAUSED:
            with _stopped(pid):
                await asyncio.sleep(PAUSE_SECONDS)
        case FaultKind.SLOWED:
            while time.perf_counter() < began + SLOW_SECONDS:
                with _stopped(pid):
                    await asyncio.sleep(_SLICE_SECONDS * (1 - _RUNNING_SHARE))
                await asyncio.sleep(_SLICE_SECONDS * _RUNNING_SHARE)
    return Outage(began, time.perf_counter())


@contextmanager
def _stopped(pid: int) -> Iterator[None]:
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


async def _serving_again(stack: Stack, service: str, old_pid: int) -> None:
    address = getattr(stack.addresses, service)
    async with asyncio.timeout(_BACK_SECONDS):
        while stack.pids()[service] == old_pid or not await asyncio.to_thread(serving, address):
            await asyncio.sleep(_POLL_SECONDS)
