"""Memory of the services and the gateway's calls in flight, once a second."""

from __future__ import annotations

import asyncio
import time
import urllib.request
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import psutil
from prometheus_client.parser import text_string_to_metric_families

from benchmarks.live.system import admin_port
from radref.cli.stack import Stack

_SECONDS = 1.0


@dataclass(slots=True)
class Watched:
    """What was seen.

    Attributes:
        memory: resident megabytes by service, as (seconds on the clock of perf_counter, MB).
        inflight: calls in the gateway, waiting ones included, as (seconds, calls).
    """

    memory: dict[str, list[tuple[float, float]]] = field(default_factory=dict)
    inflight: list[tuple[float, float]] = field(default_factory=list)


@asynccontextmanager
async def watching(stack: Stack) -> AsyncIterator[Watched]:
    """Watches while the block runs."""
    watched = Watched()
    processes = {name: psutil.Process(pid) for name, pid in stack.pids().items()}
    url = f"http://127.0.0.1:{admin_port(stack, 'gateway')}/metrics"

    async def watch() -> None:
        while True:
            now = time.perf_counter()
            for name, process in processes.items():
                watched.memory.setdefault(name, []).append((now, process.memory_info().rss / 1e6))
            watched.inflight.append((now, await asyncio.to_thread(_inflight, url)))
            await asyncio.sleep(_SECONDS)

    task = asyncio.create_task(watch())
    try:
        yield watched
    finally:
        task.cancel()
        # A watcher that failed watched nothing: that must not look like a flat line.
        (ended,) = await asyncio.gather(task, return_exceptions=True)
    if not isinstance(ended, asyncio.CancelledError):
        raise RuntimeError("the services could not be watched") from ended


def _inflight(url: str) -> float:
    with urllib.request.urlopen(url, timeout=10) as page:
        text = page.read().decode()
    for family in text_string_to_metric_families(text):
        if family.name == "radref_inflight_requests":
            return sum(sample.value for sample in family.samples)
    raise LookupError("the gateway shows no radref_inflight_requests")
