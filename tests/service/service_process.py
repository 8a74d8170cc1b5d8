"""A service as a child process on free ports, with its admin port and its log."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tests.service.test_process import free_ports

OPENMETRICS = "application/openmetrics-text; version=1.0.0"


class ServiceProcess:
    """Started at once; `close` ends it. `port`: one it had before, for a process that comes after it."""

    def __init__(
        self, module: str, section: str, settings: dict[str, str], *, port: int | None = None
    ) -> None:
        free, self.admin = free_ports(2)
        self.port = free if port is None else port
        prefix = f"RADREF_{section.upper()}_"
        everything = {"DRAIN_WAIT_SECONDS": "0", **settings}
        # A file, not a pipe: nobody reads while the process runs.
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - closed in close()
        self.process = subprocess.Popen(
            [
                *(sys.executable, "-m", module, "--listen", self.address),
                *("--admin-listen", f"127.0.0.1:{self.admin}"),
            ],
            env={**os.environ, **{f"{prefix}{name}": value for name, value in everything.items()}},
            stderr=self._log,
        )

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def get(self, path: str, accept: str = "") -> tuple[int, str]:
        """Status and text of the admin port."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.admin}{path}", headers={"Accept": accept} if accept else {}
        )
        try:
            with urllib.request.urlopen(request, timeout=10) as response:
                return response.status, response.read().decode()
        except urllib.error.HTTPError as exc:
            return exc.code, exc.read().decode()

    def log(self) -> list[dict]:
        return [json.loads(line) for line in self._text().splitlines() if line.startswith("{")]

    def _text(self) -> str:
        self._log.seek(0)
        return self._log.read().decode()

    def logged(self, message: str) -> bool:
        return any(entry["message"] == message for entry in self.log())

    def wait_until_listening(self) -> None:
        until(lambda: self.logged("listening") or self.process.poll() is not None)
        assert self.process.poll() is None, self._text()

    def terminate(self) -> None:
        self.process.send_signal(signal.SIGTERM)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        self._log.close()


@contextmanager
def service_process(
    module: str, section: str, *, port: int | None = None, **settings: str
) -> Iterator[ServiceProcess]:
    """A listening service; `settings` in capitals, without prefix, e.g. DRAIN_WAIT_SECONDS="1"."""
    running = ServiceProcess(module, section, settings, port=port)
    try:
        running.wait_until_listening()
        yield running
    finally:
        running.close()


def until(condition: Callable[[], bool], seconds: float = 60) -> None:
    """Waits for what must come."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "what was waited for did not come"
        time.sleep(0.02)
