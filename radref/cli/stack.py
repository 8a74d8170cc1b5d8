"""The four services as supervised child processes on loopback."""

from __future__ import annotations

import fcntl
import os
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from radref.cli.paths import DEFAULT_PORTS, DEFAULT_REST_PORT, Addresses
from radref.client_environment import tls_from_environment
from radref.service.settings import SettingsError, read_config_file
from radref.service.tls.client import channel_credentials
from radref.service.tls.files import CertificateFiles

# Names only: the shared package imports no service.
MODULES = {
    "inference": "inference_svc.server",
    "retrieval": "retrieval_svc.server",
    "ingest": "ingest_svc.server",
    "gateway": "gateway.server",
}
ADMIN_OFFSET = 100
START_TIMEOUT_SECONDS = 180.0
STOP_TIMEOUT_SECONDS = 20.0
# A service that dies again and again is broken; restarting it for ever would hide that.
MAX_QUICK_DEATHS = 5
QUICK_DEATH_SECONDS = 10.0
MAX_RESTART_DELAY_SECONDS = 10.0
LOG_TAIL_LINES = 15
# One answer keeps two busy; a second one beside it takes both twice as long (benchmarks/load, on two).
PROCESSORS_AN_ANSWER = 2


class StackError(Exception):
    """The stack cannot start or go on; the message says which service and why."""


@dataclass(slots=True)
class _Child:
    name: str
    process: subprocess.Popen[bytes]
    started: float
    quick_deaths: int = 0
    restart_at: float | None = None


@dataclass(slots=True)
class Stack:
    """Starts, watches and stops the services.

    Args:
        data_dir: everything the stack keeps.
        config: settings file handed to every service; None = defaults.
        trust_uploads: index uploads without review.
    """

    data_dir: Path
    config: Path | None = None
    trust_uploads: bool = True
    addresses: Addresses = field(init=False)
    _children: dict[str, _Child] = field(init=False, default_factory=dict)
    _environment: dict[str, str] = field(init=False, default_factory=dict)
    _lock: int | None = field(init=False, default=None)

    def start(self) -> None:
        """Starts every service without waiting for it.

        Raises:
            StackError: the data directory cannot be used or is in use, or the settings file cannot be read.
        """
        sized = sized_to_this_machine(self.config)
        try:
            (self.data_dir / "logs").mkdir(parents=True, exist_ok=True)
        except OSError as exc:
            raise StackError(f"cannot use {self.data_dir}: {exc.strerror}") from None
        self._take_data_dir()
        ports = _choose_ports()
        addresses = {name: f"127.0.0.1:{port}" for name, port in ports.items() if name in MODULES}
        self.addresses = Addresses(**addresses, pid=os.getpid(), rest=f"127.0.0.1:{_choose_rest_port()}")
        self._environment = {
            **sized,
            **os.environ,
            **_wiring(self.addresses, self.data_dir, trust_uploads=self.trust_uploads),
            **{f"RADREF_{name.upper()}_LISTEN": addresses[name] for name in MODULES},
            **{
                f"RADREF_{name.upper()}_ADMIN_LISTEN": f"127.0.0.1:{ports[name + ' admin']}"
                for name in MODULES
            },
        }
        for name in MODULES:
            self._children[name] = _Child(name, self._spawn(name), time.monotonic())

    def wait_until_serving(self) -> None:
        """Blocks until every service says SERVING.

        Raises:
            StackError: a service died or did not become ready in time; holds the end of its log.
        """
        deadline = time.monotonic() + START_TIMEOUT_SECONDS
        for name in MODULES:
            while not serving(getattr(self.addresses, name)):
                child = self._children[name]
                if child.process.poll() is not None:
                    raise StackError(self._death_notice(child))
                if time.monotonic() > deadline:
                    raise StackError(
                        f"{name} was not ready after {START_TIMEOUT_SECONDS:.0f} s\n{self.log_tail(name)}"
                    )
                time.sleep(0.1)

    def supervise_once(self) -> list[str]:
        """Restarts services that died, with growing delay; returns what happened, for people.

        Raises:
            StackError: a service died too often in a row.
        """
        events: list[str] = []
        now = time.monotonic()
        for child in self._children.values():
            if child.process.poll() is None:
                if child.quick_deaths and now - child.started > QUICK_DEATH_SECONDS:
                    child.quick_deaths = 0
                continue
            if child.restart_at is None:
                quick = now - child.started < QUICK_DEATH_SECONDS
                child.quick_deaths = child.quick_deaths + 1 if quick else 1
                if child.quick_deaths > MAX_QUICK_DEATHS:
                    raise StackError(self._death_notice(child))
                delay = min(MAX_RESTART_DELAY_SECONDS, 0.5 * 2 ** (child.quick_deaths - 1))
                child.restart_at = now + delay
                events.append(
                    f"{child.name} ended with code {child.process.returncode}; restart in {delay:.1f} s"
                )
            elif now >= child.restart_at:
                child.restart_at = None
                child.process, child.started = self._spawn(child.name), now
                events.append(f"{child.name} restarted (pid {child.process.pid})")
        return events

    def stop(self) -> None:
        """Stops every service: those that callers reach first, politely, then by force."""
        for name in reversed(MODULES):
            if child := self._children.get(name):
                _signal(child.process, signal.SIGTERM)
        deadline = time.monotonic() + STOP_TIMEOUT_SECONDS
        for child in self._children.values():
            try:
                child.process.wait(timeout=max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                _signal(child.process, signal.SIGKILL)
                child.process.wait()
        self._children.clear()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def pids(self) -> dict[str, int]:
        return {name: child.process.pid for name, child in self._children.items()}

    def log_path(self, name: str) -> Path:
        return self.data_dir / "logs" / f"{name}.log"

    def log_tail(self, name: str) -> str:
        try:
            lines = self.log_path(name).read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            return ""
        return "\n".join(lines[-LOG_TAIL_LINES:])

    def _take_data_dir(self) -> None:
        """Holds a lock that the kernel drops when this process dies."""
        lock = os.open(self.data_dir / "up.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            raise StackError(
                f"{self.data_dir} is in use by another radref up: stop it or name another --data-dir"
            ) from None
        self._lock = lock

    def _spawn(self, name: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", MODULES[name], "--parent-pid", str(os.getpid())]
        if self.config is not None:
            command += ["--config", str(self.config)]
        with self.log_path(name).open("ab") as log:
            # A session of its own: Ctrl-C in the terminal must reach `up` alone, which stops them in order.
            return subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=self._environment,
                start_new_session=True,
            )

    def _death_notice(self, child: _Child) -> str:
        return (
            f"{child.name} ended with code {child.process.returncode}; "
            f"the end of {self.log_path(child.name)}:\n{self.log_tail(child.name)}"
        )


def serving(address: str, timeout: float = 1.0) -> bool:
    """Whether the service at host:port says SERVING. `timeout` in seconds. TLS as the environment says."""
    with _channel(address) as channel:
        try:
            response = health_pb2_grpc.HealthStub(channel).Check(
                health_pb2.HealthCheckRequest(), timeout=timeout
            )
        except grpc.RpcError:
            return False
    return bool(response.status == health_pb2.HealthCheckResponse.SERVING)


def _channel(address: str) -> grpc.Channel:
    files = tls_from_environment()
    if files is None:
        return grpc.insecure_channel(address)
    return grpc.secure_channel(address, channel_credentials(CertificateFiles(files).current()))


def _wiring(addresses: Addresses, data_dir: Path, *, trust_uploads: bool) -> dict[str, str]:
    """Environment that connects the services and puts their data under one directory."""
    return {
        "RADREF_GATEWAY_RETRIEVAL_TARGET": addresses.retrieval,
        "RADREF_GATEWAY_INFERENCE_TARGET": addresses.inference,
        "RADREF_GATEWAY_INGEST_TARGET": addresses.ingest,
        "RADREF_GATEWAY_DATA_DIR": str(data_dir / "gateway"),
        "RADREF_GATEWAY_REST_LISTEN": addresses.rest,
        "RADREF_RETRIEVAL_INFERENCE_TARGET": addresses.inference,
        "RADREF_RETRIEVAL_DATA_DIR": str(data_dir / "index"),
        "RADREF_INGEST_INFERENCE_TARGET": addresses.inference,
        "RADREF_INGEST_RETRIEVAL_TARGET": addresses.retrieval,
        "RADREF_INGEST_DATA_DIR": str(data_dir / "documents"),
        "RADREF_INGEST_AUTO_APPROVE": "true" if trust_uploads else "false",
        # Nothing routes traffic to loopback services: no need to wait for it to stop.
        **{f"RADREF_{name.upper()}_DRAIN_WAIT_SECONDS": "0" for name in MODULES},
        **{f"RADREF_{name.upper()}_DRAIN_GRACE_SECONDS": "5" for name in MODULES},
    }


def sized_to_this_machine(config: Path | None) -> dict[str, str]:
    """Admission where this machine's processors are the models; whoever names models names their limits.

    Args:
        config: settings file; None = the one that RADREF_CONFIG names, or none.

    Returns:
        environment for the gateway; empty where the settings say it.

    Raises:
        StackError: the settings file cannot be read.
    """
    named = config or (Path(os.environ["RADREF_CONFIG"]) if os.environ.get("RADREF_CONFIG") else None)
    try:
        sections = read_config_file(named) if named is not None else {}
    except SettingsError as exc:
        raise StackError(str(exc)) from None
    if "inference" in sections or "max_model_calls" in sections.get("gateway", {}):
        return {}
    return {"RADREF_GATEWAY_MAX_MODEL_CALLS": str(max(1, (os.cpu_count() or 1) // PROCESSORS_AN_ANSWER))}


def _choose_ports() -> dict[str, int]:
    """The default ports when all are free, else free ones: two stacks may run side by side."""
    wanted = {
        **DEFAULT_PORTS,
        **{f"{name} admin": port + ADMIN_OFFSET for name, port in DEFAULT_PORTS.items()},
    }
    if all(_is_free(port) for port in wanted.values()):
        return wanted
    held: list[socket.socket] = []
    chosen: dict[str, int] = {}
    for name in wanted:
        probe = socket.socket()
        probe.bind(("127.0.0.1", 0))
        held.append(probe)
        chosen[name] = probe.getsockname()[1]
    for probe in held:
        probe.close()
    return chosen


def _choose_rest_port() -> int:
    if _is_free(DEFAULT_REST_PORT):
        return DEFAULT_REST_PORT
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def _signal(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    if process.poll() is None:
        process.send_signal(number)
