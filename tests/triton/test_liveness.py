"""The probe of Triton's container, against the real server."""

from __future__ import annotations

import os
import signal
import socket
from pathlib import Path

import pytest

from inference_svc.triton.liveness import dead_models, main
from tests.triton.triton_server import TritonServer, free_port, running_triton


def model_processes(server: int) -> list[int]:
    """The processes in which Triton runs python models."""
    children = Path(f"/proc/{server}/task").glob("*/children")
    pids = [int(pid) for file in children for pid in file.read_text().split()]
    return [pid for pid in pids if "stub" in Path(f"/proc/{pid}/cmdline").read_text()]


def test_a_healthy_server_is_alive(triton_server: TritonServer, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([triton_server.http_url]) == 0
    assert main([triton_server.http_url, "frida_tokenizer"]) == 0
    assert main([triton_server.http_url, "other"]) == 2
    assert main(["file:///etc/passwd"]) == 2


def test_a_model_whose_process_died_is_dead(
    tiny_frida: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    named = {"RADREF_TRITON_FRIDA_DIR": str(tiny_frida)}
    with running_triton(tmp_path, named, ["frida_tokenizer"]) as server:
        assert dead_models(server.http_url, ["frida_tokenizer"], 10.0) == []
        os.kill(model_processes(server.pid)[0], signal.SIGKILL)
        assert main([server.http_url, "frida_tokenizer"]) == 1
        assert capsys.readouterr().err == "dead: frida_tokenizer\n"
    assert dead_models(server.http_url, ["frida_tokenizer"], 1.0) == ["frida_tokenizer"]


def test_a_server_that_is_only_slow_is_alive() -> None:
    with socket.create_server(("127.0.0.1", free_port())) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        assert dead_models(url, ["frida"], 0.05) == []
