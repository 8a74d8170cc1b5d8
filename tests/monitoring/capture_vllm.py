"""Captures /metrics of a real vLLM after some work, for the replay of the dashboard tests.

    make .venv-vllm/.ready .venv/.dev
    RADREF_VLLM_PYTHON=.venv-vllm/bin/python .venv/bin/python -m tests.monitoring.capture_vllm
    tests/monitoring/pages

writes two pages, taken before and after work, so that a replay shows rates.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import httpx2

from tests.vllm.server import VllmServer

MODEL = "qwen3-30b-a3b"


def capture(python: Path, target: Path) -> None:
    """Writes vllm-before.prom and vllm-after.prom into `target`."""
    with tempfile.TemporaryDirectory(prefix="radref-capture-", ignore_cleanup_errors=True) as name:
        scratch = Path(name)
        subprocess.run([str(python), "-m", "tests.vllm.tiny_checkpoints", name], check=True, timeout=300)
        server = VllmServer(
            python,
            scratch / "generator",
            MODEL,
            scratch,
            ("--max-model-len", "4096", "--generation-config", "vllm"),
        )
        server.start()
        try:
            server.wait_ready()
            asyncio.run(_work(server, requests=2))
            (target / "vllm-before.prom").write_text(_page(server), "utf-8")
            asyncio.run(_work(server, requests=12))
            (target / "vllm-after.prom").write_text(_page(server), "utf-8")
        finally:
            server.stop()


async def _work(server: VllmServer, requests: int) -> None:
    body = {"model": MODEL, "max_tokens": 30, "messages": [{"role": "user", "content": "What is the dose?"}]}
    async with httpx2.AsyncClient(base_url=server.url, timeout=300.0, trust_env=False) as client:
        answers = await asyncio.gather(
            *(client.post("/v1/chat/completions", json=body) for _ in range(requests))
        )
    for answer in answers:
        answer.raise_for_status()


def _page(server: VllmServer) -> str:
    return httpx2.get(f"{server.url}/metrics", timeout=30.0, trust_env=False).text


if __name__ == "__main__":
    capture(Path(os.environ["RADREF_VLLM_PYTHON"]).absolute(), Path(sys.argv[1]))
