"""Every query of dashboards and alerts, asked of a real Prometheus that scrapes the real services.

Triton and vLLM cannot run here under load: their series come from a replay of pages captured from the real
ones. The reranker is a stand-in behind the real adapter.
"""

from __future__ import annotations

import asyncio
import json
import math
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import promql_parser
import pytest
import pytest_asyncio

from monitoring import names
from tests.e2e.conftest import SAMPLES, ingest
from tests.e2e.secured_stack import Secured, secured_stack
from tests.inference.openai_standin import standin
from tests.inference.vllm_standin import Vllm
from tests.monitoring.queries import Asked, dashboard_queries, rule_queries
from tests.monitoring.real_prometheus.page_replay import replayed
from tests.monitoring.real_prometheus.prometheus_server import Prometheus, installed, running_prometheus
from tests.monitoring.real_prometheus.traffic import some_traffic

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(not installed(), reason="prometheus is not installed (Debian package prometheus)"),
    pytest.mark.asyncio(loop_scope="module"),
]
# Rounds of traffic until every query has data; each takes some seconds.
MOST_ROUNDS = 40
# Needs an evidence gate of another model, which answers no question at all.
NEVER_HERE = 'code="FAILED_PRECONDITION"'


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stack(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Secured]:
    """With mutual TLS, tokens, a reranker, and few places, so that a burst of calls is turned away."""
    async with standin() as server:
        Vllm(server, window=32_768)
        reranker = {"backend": "vllm", "base_url": f"{server.url}/v1", "model": "m"}
        more = {
            "gateway": {"rerank": True, "max_inflight": 2, "max_queue": 2},
            "inference": {"reranker": reranker},
        }
        with ExitStack() as ended:
            running = secured_stack(tmp_path_factory.mktemp("stack"), more)
            # In a thread: the stand-in answers from this loop.
            made = await asyncio.to_thread(ended.enter_context, running)
            async with made.client("curator") as curator:
                await ingest(curator, *sorted(SAMPLES.glob("*.md")))
            yield made


@pytest.fixture(scope="module")
def prometheus(stack: Secured, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    with (
        replayed("triton") as triton,
        replayed("vllm") as vllm,
        running_prometheus(
            tmp_path_factory.mktemp("prometheus"),
            {**_admin_ports(stack.running.data_dir), names.TRITON: triton, names.VLLM: vllm},
        ) as server,
    ):
        yield server


async def test_every_query_returns_data(stack: Secured, prometheus: Prometheus, tmp_path: Path) -> None:
    waiting = [*_panels_and_records(), *_alerts()]
    for number in range(MOST_ROUNDS):
        await some_traffic(stack)
        await _one_more_document(stack, tmp_path, number)
        waiting = [asked for asked in waiting if not await asyncio.to_thread(_has_data, prometheus, asked)]
        if not waiting:
            return
    pytest.fail("no data for:\n" + "\n".join(f"{asked.where}: {asked.expr}" for asked in waiting))


async def test_prometheus_evaluates_every_rule(prometheus: Prometheus) -> None:
    rules = await asyncio.to_thread(_evaluated, prometheus)
    assert len(rules) == len(rule_queries())
    assert {rule["name"]: rule.get("lastError") for rule in rules if rule["health"] != "ok"} == {}


async def test_nobody_is_told_of_faults_that_are_not_there(prometheus: Prometheus) -> None:
    # What this test itself does is refusals and overload; the machine may be slow.
    firing = {sample["metric"]["alertname"] for sample in prometheus.query('ALERTS{alertstate="firing"}')}
    for name in firing:
        assert name.endswith("Burn"), name


def _panels_and_records() -> list[Asked]:
    return [*dashboard_queries("1m"), *(asked for asked in rule_queries() if asked.kind == "record")]


def _alerts() -> list[Asked]:
    """What alerts compare: the whole is empty while all is well, what it reads must be there."""
    return [
        Asked(f"{asked.where} reads", _read(selector), asked.kind)
        for asked in rule_queries()
        if asked.kind == "alert"
        for selector in asked.selectors()
    ]


def _read(selector: promql_parser.VectorSelector) -> str:
    """The selector alone, without its offset: the test's stack has no last week."""
    return selector.prettify().partition(" offset ")[0]


def _has_data(prometheus: Prometheus, asked: Asked) -> bool:
    """A number: a percentile of nothing is NaN, which a panel does not show."""
    found = any(not math.isnan(float(sample["value"][1])) for sample in prometheus.query(asked.expr))
    return found or NEVER_HERE in asked.expr


def _evaluated(prometheus: Prometheus) -> Sequence[dict[str, Any]]:
    deadline = time.monotonic() + 60
    while True:
        rules = prometheus.rules()
        if all(rule["health"] != "unknown" for rule in rules) or time.monotonic() > deadline:
            return rules
        time.sleep(0.2)


async def _one_more_document(stack: Secured, folder: Path, number: int) -> None:
    path = folder / f"note-{number}.md"
    path.write_text(
        f"# Note {number}\n\nRoom {number} of the department has a lead door of 2 mm.\n" * 5, "utf-8"
    )
    async with stack.client("curator") as curator:
        await ingest(curator, path)


def _admin_ports(data_dir: Path) -> dict[str, str]:
    """host:port by job, as the services wrote it into their logs."""
    found = {}
    for job in names.SERVICES:
        log = data_dir / "logs" / f"{job.removeprefix('radref-')}.log"
        lines = [json.loads(line) for line in log.read_text("utf-8").splitlines() if line.startswith("{")]
        found[job] = next(
            f"127.0.0.1:{line['admin_port']}" for line in lines if line["message"] == "listening"
        )
    return found
