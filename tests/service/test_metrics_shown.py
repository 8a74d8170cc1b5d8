"""What is scraped: names, labels, units and buckets of DESIGN section 8, of each service its own."""

import re
import urllib.request
from pathlib import Path

import pytest
from prometheus_client import Counter, Gauge, Histogram
from prometheus_client.metrics import MetricWrapperBase
from prometheus_client.openmetrics.exposition import generate_latest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from gateway.counting import start_at_zero
from radref.service import metrics
from radref.service.admin import AdminServer
from radref.service.context import Call, new_request_id, serving_call
from radref.service.exported_metrics import exported_by
from radref.service.metrics import observe_stage, stage_timer
from tests.service.service_process import OPENMETRICS

DESIGN = {
    "radref_rpc_server_duration_seconds": ("service", "method", "code"),
    "radref_stage_duration_seconds": ("stage",),
    "radref_time_to_first_statement_seconds": (),
    "radref_answers_total": ("outcome",),
    "radref_abstentions_total": ("reason",),
    "radref_citations_total": ("result",),
    "radref_generation_tokens_total": ("kind",),
    "radref_inflight_requests": (),
    "radref_admission_rejected_total": (),
    "radref_event_loop_lag_seconds": (),
    "radref_kb_documents": ("state", "topic"),
    "radref_ingest_stage_duration_seconds": ("stage",),
    "radref_ingest_queue_depth": (),
    "radref_ingest_oldest_job_age_seconds": (),
    "radref_backend_up": ("backend",),
    "radref_model_queue_seconds": ("model",),
    "radref_degraded_total": ("leg",),
    "radref_index_divergence": (),
    "radref_certificate_expiry_timestamp_seconds": ("certificate",),
}
EVERYWHERE = {
    "radref_rpc_server_duration_seconds",
    "radref_inflight_requests",
    "radref_admission_rejected",
    "radref_access_refused",
    "radref_event_loop_lag_seconds",
    "radref_backend_up",
    "radref_certificate_expiry_timestamp_seconds",
}


def every_metric() -> dict[str, MetricWrapperBase]:
    """By the name that a query uses."""
    found = {}
    for each in vars(metrics).values():
        if isinstance(each, MetricWrapperBase):
            (family,) = each.describe()
            found[f"{family.name}_total" if isinstance(each, Counter) else family.name] = each
    return found


def families(section: str) -> set[str]:
    shown = text_string_to_metric_families(generate_latest(exported_by(section)).decode())
    return {family.name for family in shown if family.name.startswith("radref_")}


@pytest.mark.parametrize("name", DESIGN)
def test_every_metric_of_the_design_exists(name: str) -> None:
    metric = every_metric()[name]
    assert tuple(metric._labelnames) == DESIGN[name]


@pytest.mark.parametrize("name", sorted(every_metric()))
def test_units_stand_in_name_and_help(name: str) -> None:
    metric = every_metric()[name]
    (family,) = metric.describe()
    assert isinstance(metric, (Counter, Gauge, Histogram))
    assert name.endswith("_seconds") == bool(re.search(r"\bseconds\b", family.documentation))


@pytest.mark.parametrize("slo", [0.3, 1.5, 10.0])
def test_buckets_straddle_the_objectives(slo: float) -> None:
    """A bound at the objective, and others near enough on both sides to see how far off it is."""
    bounds = metrics.LATENCY_BUCKETS
    below = max(bound for bound in bounds if bound < slo)
    above = min(bound for bound in bounds if bound > slo)
    assert slo in bounds
    assert below >= slo * 0.6
    assert above <= slo * 1.5


@pytest.mark.parametrize(
    ("section", "own"),
    [
        (
            "gateway",
            {
                *("radref_stage_duration_seconds", "radref_time_to_first_statement_seconds"),
                *("radref_answers", "radref_abstentions", "radref_citations", "radref_generation_tokens"),
                *("radref_audit_failures", "radref_rate_limited"),
            },
        ),
        ("retrieval", {"radref_stage_duration_seconds", "radref_degraded", "radref_kb_documents"}),
        ("inference", {"radref_model_queue_seconds", "radref_model_compute_seconds"}),
        (
            "ingest",
            {
                *("radref_kb_documents", "radref_ingest_stage_duration_seconds", "radref_ingest_queue_depth"),
                *("radref_ingest_oldest_job_age_seconds", "radref_index_divergence"),
                *("radref_index_verified_timestamp_seconds", "radref_rate_limited"),
            },
        ),
    ],
)
def test_a_service_shows_its_own(section: str, own: set[str]) -> None:
    assert families(section) == EVERYWHERE | own


def test_every_metric_is_described() -> None:
    text = (Path(__file__).parents[2] / "docs/observability.md").read_text(encoding="utf-8")
    rows = set(re.findall(r"^\| `(radref_\w+)` ", text, re.MULTILINE))
    assert rows == set(every_metric())


def test_a_rate_has_its_zero_before_the_first_answer() -> None:
    start_at_zero()
    text = generate_latest(exported_by("gateway")).decode()
    for series in (
        'radref_answers_total{outcome="abstained"}',
        'radref_abstentions_total{reason="insufficient_evidence"}',
        'radref_citations_total{result="misquoted"}',
        'radref_generation_tokens_total{kind="completion"}',
    ):
        assert series in text


def test_observations_name_their_call_to_those_who_ask_for_exemplars() -> None:
    call = Call(request_id=new_request_id(), method="/x/Y", deadline=None)
    # Stages of no other test: the registry is the process's, and lives as long as it.
    with serving_call(call):
        observe_stage("in_a_call", 0.25)
    with stage_timer("in_no_call"):
        pass
    admin = AdminServer("127.0.0.1:0", lambda: (True, []), exported_by("gateway"))
    try:
        openmetrics, classic = (scraped(admin.port, accept) for accept in (OPENMETRICS, "text/plain"))
    finally:
        admin.close()
    assert openmetrics.endswith("# EOF\n")
    assert f'le="0.3",stage="in_a_call"}} 1.0 # {{request_id="{call.request_id}"}} 0.25' in openmetrics
    assert "request_id" not in classic
    assert 'stage="in_no_call"' in openmetrics
    assert not [line for line in openmetrics.splitlines() if 'stage="in_no_call"' in line and " # " in line]


def scraped(port: int, accept: str) -> str:
    request = urllib.request.Request(f"http://127.0.0.1:{port}/metrics", headers={"Accept": accept})
    with urllib.request.urlopen(request, timeout=10) as response:
        kind = response.headers["Content-Type"]
        assert kind.startswith("application/openmetrics-text" if "openmetrics" in accept else "text/plain")
        assert response.headers["Server"].strip() == "radref"
        return response.read().decode()
