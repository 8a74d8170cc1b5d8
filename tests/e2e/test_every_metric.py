"""After documents, questions and an outage of nothing at all, every metric has a figure where docs say so."""

import asyncio
import urllib.request

import psutil
import pytest
from prometheus_client.parser import text_string_to_metric_families

from radref.cli.stack import MODULES
from radref.errors import InvalidInput
from tests.e2e.conftest import Running
from tests.e2e.test_main_job import EYE_LENS, UNKNOWN

pytestmark = pytest.mark.e2e

Series = dict[tuple[str, frozenset[tuple[str, str]]], float]


def admin_address(running: Running, service: str) -> str:
    children = psutil.Process(running.process.pid).children()
    child = next(each for each in children if MODULES[service] in each.cmdline())
    return child.environ()[f"RADREF_{service.upper()}_ADMIN_LISTEN"]


def scrape(running: Running, service: str) -> Series:
    with urllib.request.urlopen(f"http://{admin_address(running, service)}/metrics", timeout=30) as page:
        text = page.read().decode()
    assert EYE_LENS not in text
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def figure(series: Series, name: str, **labels: str) -> float:
    """Sum of the series with these labels; fails where there is none."""
    wanted = labels.items()
    found = [value for (each, has), value in series.items() if each == name and wanted <= dict(has).items()]
    assert found, (name, labels)
    return sum(found)


async def scraped_after_questions(stack: Running) -> dict[str, Series]:
    async with stack.client() as client:
        await client.generate(EYE_LENS)
        await client.generate(UNKNOWN)
        with pytest.raises(InvalidInput):
            await client.search(" ")
    return {name: await asyncio.to_thread(scrape, stack, name) for name in MODULES}


async def test_every_metric_has_a_figure(stack: Running) -> None:
    pages = await scraped_after_questions(stack)
    gateway, retrieval = pages["gateway"], pages["retrieval"]
    inference, ingest = pages["inference"], pages["ingest"]

    calls = "radref_rpc_server_duration_seconds_count"
    assert figure(gateway, calls, method="Generate", code="OK") >= 2
    assert figure(gateway, calls, method="Search", code="INVALID_ARGUMENT") >= 1
    assert figure(retrieval, calls, method="Retrieve", code="OK") >= 2
    assert figure(inference, calls, method="Embed", code="OK") >= 2
    assert figure(ingest, calls, method="SubmitDocument", code="OK") >= 2

    stages = "radref_stage_duration_seconds_count"
    for stage in ("embed", "search", "parents"):
        assert figure(retrieval, stages, stage=stage) >= 2
    for stage in ("gate", "generate", "validate"):
        assert figure(gateway, stages, stage=stage) >= 1
    assert figure(gateway, "radref_time_to_first_statement_seconds_count") >= 1
    assert figure(gateway, "radref_answers_total", outcome="answered") >= 1
    assert figure(gateway, "radref_answers_total", outcome="abstained") >= 1
    assert figure(gateway, "radref_abstentions_total", reason="insufficient_evidence") >= 1
    assert figure(gateway, "radref_citations_total", result="valid") >= 1
    # The extractive generator counts none, but the series are there.
    assert figure(gateway, "radref_generation_tokens_total", kind="completion") >= 0
    for leg in ("dense", "bm25"):
        assert figure(retrieval, "radref_degraded_total", leg=leg) >= 0
    assert figure(inference, "radref_model_queue_seconds_count") >= 2
    assert figure(inference, "radref_model_compute_seconds_count") >= 2

    assert figure(ingest, "radref_kb_documents", state="indexed", topic="safety") >= 1
    assert figure(retrieval, "radref_kb_documents", state="indexed", topic="safety") >= 1
    for stage in ("parse", "embed", "activate"):
        assert figure(ingest, "radref_ingest_stage_duration_seconds_count", stage=stage) >= 1
    assert figure(ingest, "radref_ingest_queue_depth") >= 0
    assert figure(ingest, "radref_ingest_oldest_job_age_seconds") >= 0
    for series in ("radref_index_divergence", "radref_index_verified_timestamp_seconds"):
        assert (series, frozenset()) in ingest

    up = {
        "gateway": ("retrieval", "inference", "ingest"),
        "retrieval": ("vector-store", "inference"),
        "inference": ("embedder",),
        "ingest": ("registry", "parser", "inference", "retrieval"),
    }
    for name, series in pages.items():
        for backend in up[name]:
            assert figure(series, "radref_backend_up", backend=backend) == 1
        assert figure(series, "radref_inflight_requests") >= 0
        assert figure(series, "radref_admission_rejected_total") >= 0
        assert figure(series, "radref_event_loop_lag_seconds") >= 0
        assert not [each for each, _ in series if each.endswith("_created")]


async def test_a_service_shows_no_others_figures(stack: Running) -> None:
    gateway = await asyncio.to_thread(scrape, stack, "gateway")
    assert not [name for name, _ in gateway if name.startswith(("radref_ingest_", "radref_index_"))]
