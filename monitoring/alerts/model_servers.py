"""Alerts: Triton, vLLM and the queues before the models."""

from __future__ import annotations

from monitoring.names import TRITON, VLLM
from monitoring.rules import Alert, Group

_SUCCEEDED, _FAILED = (f'nv_inference_request_{how}{{job="{TRITON}"}}' for how in ("success", "failure"))
_WAITING, _CACHE = (
    f'vllm:{what}{{job="{VLLM}"}}' for what in ("num_requests_waiting", "kv_cache_usage_perc")
)

_SEARCHES = '{stage="retrieval"}'


def _p95(histogram: str, by: str, selector: str = "") -> str:
    return f"histogram_quantile(0.95, sum by ({by}, le) (rate({histogram}_bucket{selector}[10m])))"


MODEL_SERVER_ALERTS = Group(
    "model-servers",
    [
        Alert(
            name="RadrefModelServerDown",
            severity="critical",
            # Loading weights takes minutes; the startup probe knows that, this must too.
            expr=f'sum by (namespace, job) (up{{job=~"{TRITON}|{VLLM}"}}) == 0',
            hold="10m",
            summary="{{ $labels.job }} does not run",
            description="No pod of {{ $labels.job }} answers. Triton: no search by meaning and no "
            "reranking; vLLM: no generated answers.",
        ),
        Alert(
            name="RadrefModelQueueSlow",
            severity="warning",
            # Documents wait in the same queues as long as they like: only a queue that people feel counts.
            expr=(
                f"{_p95('radref_model_queue_seconds', 'namespace, model')} > 0.3\n"
                "and on (namespace) (\n"
                f"  {_p95('radref_stage_duration_seconds', 'namespace', _SEARCHES)} > 0.3\n"
                f"  or {_p95('radref_time_to_first_statement_seconds', 'namespace')} > 1.5\n"
                ")"
            ),
            hold="10m",
            summary="people wait because requests wait for {{ $labels.model }}",
            description="95 % of its requests of the last ten minutes waited up to "
            "{{ $value | humanizeDuration }} before the model looked at them, and searches or first "
            "statements are slower than they may be.",
        ),
        Alert(
            name="RadrefTritonFailing",
            severity="warning",
            expr=(
                f"sum by (namespace, model) (rate({_FAILED}[10m]))\n"
                f"/ (sum by (namespace, model) (rate({_FAILED}[10m]))\n"
                f"  + sum by (namespace, model) (rate({_SUCCEEDED}[10m])))\n"
                "> 0.05"
            ),
            hold="10m",
            summary="Triton fails requests of {{ $labels.model }}",
            description="{{ $value | humanizePercentage }} of the requests of the last ten minutes failed.",
        ),
        Alert(
            name="RadrefVllmQueueing",
            severity="warning",
            expr=f"min_over_time(sum by (namespace, model_name) ({_WAITING})[15m:]) > 0",
            hold="0m",
            summary="vLLM has not emptied its queue of {{ $labels.model_name }} for 15 minutes",
            description="At least {{ $value }} requests waited at any time: more is asked for than it can "
            "generate.",
        ),
        Alert(
            name="RadrefVllmCacheFull",
            severity="warning",
            expr=f"min by (namespace, model_name) ({_CACHE}) > 0.95",
            hold="15m",
            summary="the KV cache of {{ $labels.model_name }} is full",
            description="{{ $value | humanizePercentage }} of the cache is in use: vLLM interrupts running "
            "requests and starts them again.",
        ),
    ],
)
