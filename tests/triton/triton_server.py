"""Starts and ends the real tritonserver that nvidia-pytriton bundles, on free ports."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import tritonclient.grpc as triton

REPOSITORY = Path(__file__).resolve().parents[2] / "inference_svc/triton/model_repository"
START_SECONDS = 300.0
STOP_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class TritonServer:
    """A running server.

    Attributes:
        address: host:port of its gRPC endpoint.
        http_url: of its HTTP endpoint.
        log: file with what it wrote.
        pid: its process.
    """

    address: str
    http_url: str
    log: Path
    pid: int

    def log_text(self) -> str:
        """All it wrote so far."""
        return self.log.read_text("utf-8", errors="replace")


class StartFailed(Exception):
    """The server ended, or did not become ready.

    Args:
        code: exit code; None where it was still running.
        log: what it wrote.
    """

    def __init__(self, code: int | None, log: str) -> None:
        super().__init__(f"tritonserver did not become ready (exit code {code}); its log:\n{log}")
        self.code, self.log = code, log


@contextmanager
def running_triton(
    work: Path, model_directories: Mapping[str, str], models: Sequence[str] = ()
) -> Iterator[TritonServer]:
    """The server with the repository of this checkout, ready; ended at the end.

    Args:
        work: an empty directory for its backend and log.
        model_directories: environment variables that name directories with weights.
        models: load only these; empty = the whole repository.

    Raises:
        StartFailed: a model does not load.
    """
    log, port, http_port = work / "triton.log", free_port(), free_port()
    with log.open("wb") as stream:
        process = subprocess.Popen(
            command(backend_directory(work), port, http_port, models),
            env=environment(model_directories),
            stdout=stream,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    server = TritonServer(f"127.0.0.1:{port}", f"http://127.0.0.1:{http_port}", log, process.pid)
    regions: list[Path] = []
    try:
        _wait_ready(process, server)
        regions = _shared_memory(process.pid)
        yield server
    finally:
        _end(process)
        # A model process that a test killed leaves its region behind.
        for region in regions:
            region.unlink(missing_ok=True)


def command(backends: Path, port: int, http_port: int, models: Sequence[str] = ()) -> list[str]:
    """The server's command line."""
    control = ["--model-control-mode=explicit", *(f"--load-model={name}" for name in models)]
    return [
        str(_bundle() / "bin/tritonserver"),
        f"--model-repository={REPOSITORY}",
        f"--backend-directory={backends}",
        "--exit-on-error=true",
        "--disable-auto-complete-config",
        "--grpc-address=127.0.0.1",
        f"--grpc-port={port}",
        "--http-address=127.0.0.1",
        f"--http-port={http_port}",
        "--allow-metrics=false",
        *(control if models else ["--model-control-mode=none"]),
    ]


def backend_directory(work: Path) -> Path:
    """A copy of the bundled python backend with the stub of this Python version."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    target = work / "backends"
    shutil.copytree(_bundle() / "backends", target)
    shutil.copy2(
        _bundle() / "python_backend_stubs" / version / "triton_python_backend_stub", target / "python"
    )
    return target


def environment(model_directories: Mapping[str, str]) -> dict[str, str]:
    """The caller's environment, so that the stub runs this interpreter with this environment's packages."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("RADREF_TRITON_")}
    packages = sysconfig.get_path("purelib")
    libraries = [
        # Else the stub loads the system's libpython of the same version, with another standard library.
        sysconfig.get_config_var("LIBDIR"),
        # What the wheel bundles for the stub, which finds it only where the wheel put both.
        f"{packages}/nvidia_pytriton.libs",
        os.environ.get("LD_LIBRARY_PATH", ""),
    ]
    return {
        **kept,
        # Small matrices: several threads only wait for each other on a busy machine.
        "OMP_NUM_THREADS": "1",
        "TOKENIZERS_PARALLELISM": "false",
        **model_directories,
        "LD_LIBRARY_PATH": os.pathsep.join(filter(None, libraries)),
        # The stub's interpreter is isolated, PYTHONPATH means nothing to it. It takes itself for the first
        # python3 on PATH, and so finds that one's packages.
        "PATH": os.pathsep.join([sysconfig.get_path("scripts"), os.environ.get("PATH", "")]),
    }


def free_port() -> int:
    """A port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _bundle() -> Path:
    spec = find_spec("pytriton")
    if spec is None or spec.origin is None:
        raise FileNotFoundError("nvidia-pytriton, which brings tritonserver, is not installed here")
    return Path(spec.origin).parent / "tritonserver"


def _wait_ready(process: subprocess.Popen[bytes], server: TritonServer) -> None:
    deadline = time.monotonic() + START_SECONDS
    with triton.InferenceServerClient(server.address) as client:
        while time.monotonic() < deadline:
            code = process.poll()
            if code is not None:
                raise StartFailed(code, server.log_text())
            try:
                if client.is_server_ready():
                    return
            except triton.InferenceServerException:
                pass  # not listening yet
            time.sleep(0.2)
    raise StartFailed(None, server.log_text())


def _shared_memory(server: int) -> list[Path]:
    """The regions through which the server talks to its model processes, from their command lines."""
    children = [
        pid for file in Path(f"/proc/{server}/task").glob("*/children") for pid in file.read_text().split()
    ]
    words = [word for pid in children for word in Path(f"/proc/{pid}/cmdline").read_text().split("\0")]
    return [Path("/dev/shm") / word for word in words if word.startswith("triton_python_backend_shm_region_")]


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(STOP_SECONDS)
    # Also ends model processes that a killed server would leave behind.
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
