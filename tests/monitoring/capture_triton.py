"""Captures /metrics of the real tritonserver after some work, for the replay of the dashboard tests.

    make .venv-triton/.ready && .venv-triton/bin/python -m tests.monitoring.capture_triton
    tests/monitoring/pages

writes two pages, taken before and after work, so that a replay shows rates. No GPU: `nv_gpu_*` is not in
them.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import urllib.request
from pathlib import Path

import tritonclient.grpc.aio as triton
from tritonclient.utils import InferenceServerException

from tests.triton import triton_server
from tests.triton.frida_client import embed, texts_input
from tests.triton.tiny_qwen3 import write_tiny_reranker
from tests.triton.tiny_t5 import write_tiny_frida

RERANKER = "qwen3_reranker"


def capture(target: Path) -> None:
    """Writes triton-before.prom and triton-after.prom into `target`."""
    with tempfile.TemporaryDirectory(prefix="radref-capture-") as name:
        work = Path(name)
        directories = {
            "RADREF_TRITON_FRIDA_DIR": str(write_tiny_frida(work / "frida")),
            "RADREF_TRITON_QWEN3_RERANKER_DIR": str(write_tiny_reranker(work / "reranker")),
        }
        port = triton_server.free_port()
        plain = triton_server.command
        # The suite's server has its metrics off.
        triton_server.command = lambda *arguments: [
            *(word for word in plain(*arguments) if word != "--allow-metrics=false"),
            "--metrics-address=127.0.0.1",
            f"--metrics-port={port}",
            "--metrics-config=summary_latencies=false",
        ]
        with triton_server.running_triton(work, directories) as server:
            asyncio.run(_work(server.address, rounds=4))
            (target / "triton-before.prom").write_text(_page(port), "utf-8")
            asyncio.run(_work(server.address, rounds=40))
            (target / "triton-after.prom").write_text(_page(port), "utf-8")


async def _work(address: str, rounds: int) -> None:
    async with triton.InferenceServerClient(address) as client:
        await asyncio.gather(
            *(embed(client, ["What is the dose of a chest radiograph?", "Доза"]) for _ in range(rounds)),
            *(_rerank(client) for _ in range(rounds)),
        )
        try:
            await embed(client, ["x"], kind="no such kind")
        except InferenceServerException:
            return  # one failure, so that its counter is there
        raise AssertionError("an unknown kind was accepted")


async def _rerank(client: triton.InferenceServerClient) -> None:
    columns = {
        "QUERY": "What is the dose?",
        "DOCUMENT": "The dose is 0.1 mSv.",
        "INSTRUCTION": "Find the passage",
    }
    inputs = [texts_input(name, [text, text], column=True) for name, text in columns.items()]
    await client.infer(RERANKER, inputs, client_timeout=60.0)


def _page(port: int) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as response:
        return str(response.read().decode())


if __name__ == "__main__":
    capture(Path(sys.argv[1]))
