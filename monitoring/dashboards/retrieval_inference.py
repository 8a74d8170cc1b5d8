"""For whoever looks after search: the index, its store and the models before it."""

from __future__ import annotations

from monitoring.dashboards.board import Board, Panel, Query, Row, Unit
from monitoring.dashboards.processes import process_row
from monitoring.dashboards.queries import RPC, failing, job, percentiles, rate, selector
from monitoring.names import INFERENCE, RETRIEVAL

_STAGE = "radref_stage_duration_seconds"
# Not the health checks and streams of a whole generation.
_OK = 'code="OK"'


def _calls(service: str) -> list[Panel]:
    return [
        Panel(
            "Calls by method",
            "What the other services ask for.",
            Unit.CALLS_PER_SECOND,
            [Query(rate(f"{RPC}_count", job(service), by="method"), "{{method}}")],
            stacked=True,
        ),
        Panel(
            "Share that did not end OK, by method",
            "CANCELLED where a person went away; UNAVAILABLE where a backend is down.",
            Unit.SHARE,
            [Query(failing(job(service)), "{{method}}")],
        ),
        Panel(
            "Time of a call, by method",
            "Calls that ended OK.",
            Unit.SECONDS,
            percentiles(RPC, job(service), _OK, by="method"),
            exemplars=True,
        ),
    ]


RETRIEVAL_BOARD = Board(
    "radref-retrieval-inference",
    "Retrieval and inference",
    "Search, its store and the models before it: where the 0.3 s of a search go.",
    [
        Row("Retrieval: calls", _calls(RETRIEVAL)),
        Row(
            "Retrieval: where the time of a search goes",
            [
                Panel(
                    "Query vector",
                    "Stage `embed`: the question's way through inference and back.",
                    Unit.SECONDS,
                    percentiles(_STAGE, 'stage="embed"'),
                ),
                Panel(
                    "Store: search",
                    "Stage `search`: both legs in all collections, and their fusion.",
                    Unit.SECONDS,
                    percentiles(_STAGE, 'stage="search"'),
                ),
                Panel(
                    "Store: parents",
                    "Stage `parents`: fetching the passages of the best children by id.",
                    Unit.SECONDS,
                    percentiles(_STAGE, 'stage="parents"'),
                ),
                Panel(
                    "Reranking",
                    "Stage `rerank`, as the gateway sees it; nothing where no reranker is configured.",
                    Unit.SECONDS,
                    percentiles(_STAGE, 'stage="rerank"'),
                ),
                Panel(
                    "Searches without a leg",
                    "Answered from the other leg, with a notice. dense: inference is slow or down; bm25: "
                    "the store.",
                    Unit.PER_SECOND,
                    [Query(rate("radref_degraded_total", by="leg"), "{{leg}}")],
                ),
                Panel(
                    "Calls in flight",
                    "By pod.",
                    Unit.COUNT,
                    [Query(selector("radref_inflight_requests", job(RETRIEVAL)), "{{instance}}")],
                ),
            ],
        ),
        Row("Inference: calls", _calls(INFERENCE)),
        Row(
            "Inference: models",
            [
                Panel(
                    "Wait for a model",
                    "From the request's arrival until the model takes it. A queue that grows: too few "
                    "replicas, or ingest in the way of questions.",
                    Unit.SECONDS,
                    percentiles("radref_model_queue_seconds", by="model"),
                    limit=0.3,
                ),
                Panel(
                    "Work of a model",
                    "One batch here, one request of a remote model.",
                    Unit.SECONDS,
                    percentiles("radref_model_compute_seconds", by="model"),
                ),
                Panel(
                    "Batches and requests",
                    "Worked off, by model.",
                    Unit.PER_SECOND,
                    [Query(rate("radref_model_compute_seconds_count", by="model"), "{{model}}")],
                ),
                Panel(
                    "Calls refused because full",
                    "Admission control of retrieval and inference.",
                    Unit.CALLS_PER_SECOND,
                    [
                        Query(
                            rate(
                                "radref_admission_rejected_total", f'job=~"{RETRIEVAL}|{INFERENCE}"', by="job"
                            ),
                            "{{job}}",
                        )
                    ],
                ),
            ],
        ),
        process_row(RETRIEVAL),
        process_row(INFERENCE),
    ],
)
