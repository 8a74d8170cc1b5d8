"""A service as a process: probes, metrics, not serving without its neighbours, clean end."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase


def free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


class Gateway:
    def __init__(self, data_dir: Path) -> None:
        self.port, self.admin, closed = free_ports(3)
        targets = {
            f"RADREF_GATEWAY_{name}_TARGET": f"127.0.0.1:{closed}"
            for name in ("RETRIEVAL", "INFERENCE", "INGEST")
        }
        self.process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "gateway.server",
                *("--listen", f"127.0.0.1:{self.port}", "--admin-listen", f"127.0.0.1:{self.admin}"),
            ],
            env={
                **os.environ,
                **targets,
                "RADREF_GATEWAY_DRAIN_WAIT_SECONDS": "0",
                "RADREF_GATEWAY_DATA_DIR": str(data_dir),
            },
            stderr=subprocess.PIPE,
        )

    def get(self, path: str) -> tuple[int, str]:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.admin}{path}", timeout=5) as response:
                return response.status, response.read().decode()
        except urllib.error.HTTPError as exc:
            return exc.code, exc.read().decode()

    def wait_until_listening(self) -> None:
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            assert self.process.poll() is None, self.process.stderr.read().decode()
            try:
                self.get("/livez")
            except OSError:
                time.sleep(0.05)
            else:
                return
        raise AssertionError("the gateway did not listen in time")


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[Gateway]:
    running = Gateway(tmp_path / "gateway")
    try:
        running.wait_until_listening()
        yield running
    finally:
        running.process.kill()
        running.process.communicate()


@pytest.mark.e2e
def test_without_neighbours_it_lives_but_does_not_serve(gateway: Gateway) -> None:
    assert gateway.get("/livez") == (200, "ok\n")
    status, text = gateway.get("/readyz")
    assert status == 503
    assert "retrieval" in text
    status, text = gateway.get("/metrics")
    assert status == 200
    assert 'radref_backend_up{backend="retrieval"} 0.0' in text
    with grpc.insecure_channel(f"127.0.0.1:{gateway.port}") as channel:
        response = health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(), timeout=5)
        assert response.status == health_pb2.HealthCheckResponse.NOT_SERVING
        services = ProtoReflectionDescriptorDatabase(channel).get_services()
    assert "radref.api.gateway.v1.GatewayService" in services


@pytest.mark.e2e
def test_a_start_that_waits_says_for_what_once(gateway: Gateway) -> None:
    deadline = time.monotonic() + 60
    while "retrieval" not in gateway.get("/readyz")[1] and time.monotonic() < deadline:
        time.sleep(0.05)
    gateway.process.send_signal(signal.SIGTERM)
    assert gateway.process.stderr is not None
    lines = gateway.process.stderr.read().decode().splitlines()
    down = [line for line in lines if '"backend down"' in line and '"retrieval"' in line]
    assert len(down) == 1


@pytest.mark.e2e
def test_sigterm_ends_it_cleanly(gateway: Gateway) -> None:
    gateway.process.send_signal(signal.SIGTERM)
    assert gateway.process.wait(timeout=20) == 0


@pytest.mark.e2e
def test_unusable_settings_are_refused_at_start() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "gateway.server"],
        env={**os.environ, "RADREF_GATEWAY_GENERATION_PARENT": "5"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 2
    assert "RADREF_GATEWAY_GENERATION_PARENT names no setting" in done.stderr
