"""Tells watchers in this process that a job changed. The registry says what it changed to."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager


class JobEvents:
    """Wakes the watchers of a job. Used from the event loop's thread only."""

    def __init__(self) -> None:
        self._watchers: defaultdict[str, set[asyncio.Event]] = defaultdict(set)

    def changed(self, job_id: str) -> None:
        """Wakes everyone who watches this job."""
        for watcher in self._watchers.get(job_id, ()):
            watcher.set()

    @contextmanager
    def watching(self, job_id: str) -> Iterator[asyncio.Event]:
        """An event that is set by every change from now on; the watcher clears it before it looks."""
        watcher = asyncio.Event()
        self._watchers[job_id].add(watcher)
        try:
            yield watcher
        finally:
            self._watchers[job_id].discard(watcher)
            if not self._watchers[job_id]:
                del self._watchers[job_id]
