"""Prometheus metrics of all services (DESIGN section 8). Label values are bounded sets, never free text.

A process shows those that its service has (`exported_metrics`); docs/observability.md lists them.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from prometheus_client import Counter, Gauge, Histogram

from radref.service.exemplars import exemplar
from radref.service.tracing.spans import stage_span

# Straddle the SLOs: retrieval 0.3 s, first statement 1.5 s, answer 10 s.
LATENCY_BUCKETS = (
    *(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.3, 0.4, 0.6),
    *(1.0, 1.5, 2.0, 3.0, 5.0, 7.5, 10.0, 15.0, 30.0, 60.0, 120.0),
)

RPC_SECONDS = Histogram(
    "radref_rpc_server_duration_seconds",
    "Time of a served call, a stream to its end, seconds",
    ["service", "method", "code"],
    buckets=LATENCY_BUCKETS,
)
STAGE_SECONDS = Histogram(
    "radref_stage_duration_seconds",
    "Time of a stage of answering, seconds",
    ["stage"],
    buckets=LATENCY_BUCKETS,
)
FIRST_STATEMENT_SECONDS = Histogram(
    "radref_time_to_first_statement_seconds",
    "Time from a question to its first checked statement, seconds",
    buckets=LATENCY_BUCKETS,
)
INFLIGHT = Gauge("radref_inflight_requests", "Calls being served, those that wait for a place included")
ADMISSION_REJECTED = Counter(
    "radref_admission_rejected_total", "Calls refused because the service was full or overloaded"
)
RATE_LIMITED = Counter("radref_rate_limited_total", "Calls refused because their caller calls too often")
ACCESS_REFUSED = Counter("radref_access_refused_total", "Calls refused by access control", ["reason"])
CERTIFICATE_EXPIRY = Gauge(
    "radref_certificate_expiry_timestamp_seconds",
    "When a certificate in use runs out, Unix time in seconds",
    ["certificate"],
)
EVENT_LOOP_LAG = Gauge(
    "radref_event_loop_lag_seconds", "Largest delay of the event loop in the last minute, seconds"
)
BACKEND_UP = Gauge("radref_backend_up", "1 when the backend answered its last check, else 0", ["backend"])

ANSWERS = Counter("radref_answers_total", "Questions by outcome", ["outcome"])
ABSTENTIONS = Counter("radref_abstentions_total", "Abstentions by reason", ["reason"])
CITATIONS = Counter("radref_citations_total", "Citations by what the validator found", ["result"])
GENERATION_TOKENS = Counter("radref_generation_tokens_total", "Tokens of the generator", ["kind"])
DEGRADED = Counter("radref_degraded_total", "Searches answered without a leg", ["leg"])
AUDIT_FAILURES = Counter("radref_audit_failures_total", "Writes that the audit store did not take")

KB_DOCUMENTS = Gauge("radref_kb_documents", "Documents of the knowledge base", ["state", "topic"])
INGEST_STAGE_SECONDS = Histogram(
    "radref_ingest_stage_duration_seconds",
    "Time of a stage of ingestion, seconds",
    ["stage"],
    buckets=(0.01, 0.05, 0.1, 0.5, 1, 2, 5, 10, 30, 60, 120, 300, 900),
)
INGEST_QUEUE_DEPTH = Gauge("radref_ingest_queue_depth", "Jobs waiting for a worker")
INGEST_OLDEST_JOB_AGE = Gauge(
    "radref_ingest_oldest_job_age_seconds", "Age of the oldest unfinished job, seconds; 0 = none"
)
INDEX_DIVERGENCE = Gauge(
    "radref_index_divergence", "Differences between registry and index, not mended; NaN = not looked yet"
)
INDEX_VERIFIED = Gauge(
    "radref_index_verified_timestamp_seconds",
    "When registry and index were compared last, Unix time in seconds; 0 = not yet",
)
MODEL_QUEUE_SECONDS = Histogram(
    "radref_model_queue_seconds", "Time in the queue of a model, seconds", ["model"], buckets=LATENCY_BUCKETS
)
MODEL_COMPUTE_SECONDS = Histogram(
    "radref_model_compute_seconds",
    "Time a model works on a batch, for a remote one on a request, seconds",
    ["model"],
    buckets=LATENCY_BUCKETS,
)


@dataclass(slots=True)
class StageClock:
    """Milliseconds of a finished stage; 0 while it runs."""

    milliseconds: float = 0.0


@contextmanager
def stage_timer(stage: str) -> Iterator[StageClock]:
    """Times a stage of answering: observes it in STAGE_SECONDS, also when it fails, and gives it a span.

    Args:
        stage: embed, search, parents, rerank, gate, generate or validate; select: of a consult; and
            retrieval: from a question to its ranked passages, so embed, search, parents and rerank with the
            way there and back.
    """
    clock = StageClock()
    started = time.perf_counter()
    try:
        with stage_span(stage):
            yield clock
    finally:
        elapsed = time.perf_counter() - started
        clock.milliseconds = elapsed * 1000
        observe_stage(stage, elapsed)


def observe_stage(stage: str, seconds: float) -> None:
    """Observes a stage that was timed in pieces; `stage` as in `stage_timer`."""
    STAGE_SECONDS.labels(stage=stage).observe(seconds, exemplar())
