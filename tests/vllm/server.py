"""A real vLLM server as a child process."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import httpx2
import psutil

# Two minutes on two free cores, most of it for the imports of three processes; ten were seen where a dozen
# other processes wanted the same cores.
START_SECONDS = 900.0
# An aborted request leaves the engine with its next step.
IDLE_SECONDS = 20.0
# Before the engine is asked, a client may have hundreds of long texts tokenized.
BUSY_SECONDS = 120.0
# A ready server was seen to take 4 s to end after SIGTERM.
_STOP_SECONDS = 20.0
_TRACKER_SECONDS = 5.0

_ENVIRONMENT = {
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",  # pinned threads starve on a machine that others use too
    "OMP_NUM_THREADS": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "DO_NOT_TRACK": "1",
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
}


def free_port() -> int:
    """A loopback port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class VllmServer:
    """`start`, `wait_ready`, and `stop` whatever happens; may be started again on the same port.

    Args:
        python: interpreter with vLLM.
        model: checkpoint directory.
        name: model id that it serves.
        scratch: directory for log, caches and sockets, so with a short path.
        arguments: further command line arguments.
    """

    def __init__(
        self, python: Path, model: Path, name: str, scratch: Path, arguments: Sequence[str] = ()
    ) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.model = model
        self.name = name
        # No connection is kept: none may outlive a server that is ended.
        self._http = httpx2.Client(
            base_url=self.url,
            timeout=IDLE_SECONDS,
            trust_env=False,
            limits=httpx2.Limits(max_keepalive_connections=0),
        )
        self._log = scratch / f"{name}.log"
        self._command = [
            *(str(python), "-m", "vllm.entrypoints.openai.api_server"),
            *("--model", str(model), "--served-model-name", name),
            *("--host", "127.0.0.1", "--port", str(self.port)),
            *("--dtype", "float32", "--max-num-seqs", "4", "--enforce-eager"),
            *("--kv-cache-memory-bytes", str(64 * 2**20)),
            *arguments,
        ]
        self._environment = {
            **os.environ,
            **_ENVIRONMENT,
            "VLLM_CACHE_ROOT": str(scratch / "cache"),
            "TMPDIR": str(scratch),
        }
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Returns at once; a process group of its own, because its children survive a signal to it alone."""
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def wait_ready(self) -> None:
        """Raises RuntimeError, with the end of the log, when the server ends or does not become healthy."""
        until = time.monotonic() + START_SECONDS
        while time.monotonic() < until:
            if self._process is None or self._process.poll() is not None:
                raise RuntimeError(f"vLLM ended while it started\n{self.log_tail()}")
            with contextlib.suppress(httpx2.TransportError):
                if self._http.get("/health", timeout=2.0).status_code == 200:
                    return
            time.sleep(0.5)
        raise RuntimeError(f"vLLM was not ready after {START_SECONDS} s\n{self.log_tail()}")

    def pause(self) -> None:
        """Stops every process of the server without ending it: it holds its connections and says nothing."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._signal(signal.SIGCONT)

    def kill(self) -> None:
        """Ends it at once, as a node that fails."""
        if self._process is None:
            return
        # The resource tracker is left to remove the shared memory of the others, then it ends by itself.
        self._signal(signal.SIGKILL, spare="resource_tracker")
        self._process.wait()
        with contextlib.suppress(ProcessLookupError):
            until = time.monotonic() + _TRACKER_SECONDS
            while time.monotonic() < until:
                os.killpg(self._process.pid, 0)
                time.sleep(0.1)
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process = None

    def stop(self) -> None:
        """Ends it, whatever state it is in: while it starts, SIGTERM alone does not."""
        if self._process is None:
            return
        self.resume()
        self._process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_STOP_SECONDS)
        self.kill()

    def _signal(self, number: int, *, spare: str = "\0") -> None:
        assert self._process is not None
        with contextlib.suppress(psutil.NoSuchProcess):
            leader = psutil.Process(self._process.pid)
            for process in [*leader.children(recursive=True), leader]:
                with contextlib.suppress(psutil.NoSuchProcess):
                    if not any(spare in word for word in process.cmdline()):
                        process.send_signal(number)

    def log_tail(self, lines: int = 40) -> str:
        if not self._log.exists():
            return ""
        return "\n".join(self._log.read_text("utf-8", "replace").splitlines()[-lines:])

    async def requests(self) -> int:
        """Requests in the engine, running or waiting."""
        return await self._metric("num_requests_(?:running|waiting)")

    async def prompt_tokens(self) -> int:
        """Tokens of all prompts since it started."""
        return await self._metric("prompt_tokens_total")

    async def _metric(self, names: str) -> int:
        """Sum of the metrics whose names match."""
        text = (await asyncio.to_thread(self._http.get, "/metrics")).text
        values = re.findall(rf"^vllm:{names}\{{[^}}]*\}} (\S+)$", text, re.MULTILINE)
        assert values, f"vLLM has no metric {names}"
        return round(sum(map(float, values)))

    async def wait_busy(self, requests: int = 1) -> None:
        """Raises TimeoutError unless the engine has so many requests, or more, within BUSY_SECONDS."""
        async with asyncio.timeout(BUSY_SECONDS):
            while await self.requests() < requests:
                await asyncio.sleep(0.02)

    async def wait_idle(self) -> None:
        """Raises TimeoutError unless the engine has no request within IDLE_SECONDS."""
        async with asyncio.timeout(IDLE_SECONDS):
            while await self.requests() > 0:
                await asyncio.sleep(0.05)
