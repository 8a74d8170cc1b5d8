"""For whoever runs the GPU nodes: Triton (embedder, reranker) and vLLM (generator) by their own metrics."""

from __future__ import annotations

from monitoring.dashboards.board import Board, Panel, Query, Row, Unit
from monitoring.dashboards.queries import job, percentiles, rate, selector, share
from monitoring.names import TRITON, VLLM

_TRITON, _VLLM = job(TRITON), job(VLLM)
_MODEL, _LLM, _END = "{{model}}", "{{model_name}}", "{{finished_reason}}"


def _busy(metric: str) -> str:
    """Microseconds a second / 1e6: how many requests were in this state at once, by Little's law."""
    return f"{rate(metric, _TRITON, by='model')} / 1e6"


GPU_BOARD = Board(
    "radref-gpu-backends",
    "GPU backends",
    "Triton (embedder, reranker) and vLLM (generator), by their own metrics. Empty where neither runs.",
    [
        Row(
            "Triton",
            [
                Panel(
                    "Requests that wait",
                    "For a model instance, now. A queue that does not empty wants another replica.",
                    Unit.COUNT,
                    [
                        Query(
                            f"sum by (model) ({selector('nv_inference_pending_request_count', _TRITON)})",
                            _MODEL,
                        )
                    ],
                ),
                Panel(
                    "Requests in the queue at once",
                    "Time spent waiting per second of time: a queue between two scrapes shows here. Triton "
                    "keeps no histogram of waits; percentiles are on the dashboard of retrieval and "
                    "inference.",
                    Unit.COUNT,
                    [Query(_busy("nv_inference_queue_duration_us"), _MODEL)],
                ),
                Panel(
                    "Instances at work at once",
                    "Time spent computing per second of time. At the number of instances the model is "
                    "saturated.",
                    Unit.COUNT,
                    [Query(_busy("nv_inference_compute_infer_duration_us"), _MODEL)],
                ),
                Panel(
                    "Requests answered",
                    "By model.",
                    Unit.CALLS_PER_SECOND,
                    [Query(rate("nv_inference_request_success", _TRITON, by="model"), _MODEL)],
                ),
                Panel(
                    "Requests failed",
                    "By model and reason. CANCELED: the caller went away; REJECTED: the queue was full or "
                    "too slow.",
                    Unit.CALLS_PER_SECOND,
                    [
                        Query(
                            rate("nv_inference_request_failure", _TRITON, by="model, reason"),
                            f"{_MODEL} {{{{reason}}}}",
                        )
                    ],
                ),
                Panel(
                    "Rows per execution",
                    "How full the batches are: 1 under load means that batching does not work.",
                    Unit.COUNT,
                    [
                        Query(
                            share(
                                rate("nv_inference_count", _TRITON, by="model"),
                                rate("nv_inference_exec_count", _TRITON, by="model"),
                            ),
                            _MODEL,
                        )
                    ],
                ),
            ],
        ),
        Row(
            "vLLM: load",
            [
                Panel(
                    "Requests running and waiting",
                    "Waiting ones do not fit into the batch or the KV cache.",
                    Unit.COUNT,
                    [
                        Query(
                            f"sum by (model_name) ({selector('vllm:num_requests_running', _VLLM)})",
                            "running {{model_name}}",
                        ),
                        Query(
                            f"sum by (model_name) ({selector('vllm:num_requests_waiting', _VLLM)})",
                            "waiting {{model_name}}",
                        ),
                    ],
                ),
                Panel(
                    "KV cache in use",
                    "Near 100 % vLLM interrupts running requests; the fullest replica is shown.",
                    Unit.SHARE,
                    [
                        Query(
                            f"max by (model_name) ({selector('vllm:kv_cache_usage_perc', _VLLM)})",
                            _LLM,
                        )
                    ],
                    limit=0.95,
                ),
                Panel(
                    "Interrupted requests",
                    "Preemptions: each is computed again.",
                    Unit.PER_SECOND,
                    [Query(rate("vllm:num_preemptions_total", _VLLM, by="model_name"), _LLM)],
                ),
                Panel(
                    "Tokens",
                    "Read and written.",
                    Unit.PER_SECOND,
                    [
                        Query(rate("vllm:prompt_tokens_total", _VLLM, by="model_name"), f"prompt {_LLM}"),
                        Query(
                            rate("vllm:generation_tokens_total", _VLLM, by="model_name"),
                            f"generated {_LLM}",
                        ),
                    ],
                ),
                Panel(
                    "Requests finished, by how",
                    "stop: whole; length: cut off at its limit; abort: the caller went away; error: a fault.",
                    Unit.CALLS_PER_SECOND,
                    [
                        Query(
                            rate("vllm:request_success_total", _VLLM, by="finished_reason"),
                            _END,
                        )
                    ],
                    stacked=True,
                ),
                Panel(
                    "Prompt tokens found in the cache",
                    "The rules of the prompt are the same for all questions: this should not be 0.",
                    Unit.SHARE,
                    [
                        Query(
                            share(
                                rate("vllm:prefix_cache_hits_total", _VLLM, by="model_name"),
                                rate("vllm:prefix_cache_queries_total", _VLLM, by="model_name"),
                            ),
                            _LLM,
                        )
                    ],
                ),
            ],
        ),
        Row(
            "vLLM: time",
            [
                Panel(
                    "In the queue",
                    "Before the first computation.",
                    Unit.SECONDS,
                    percentiles("vllm:request_queue_time_seconds", _VLLM, by="model_name"),
                ),
                Panel(
                    "To the first token",
                    "Queue and prompt together. A first statement within 1.5 s needs a good part less than "
                    "that.",
                    Unit.SECONDS,
                    percentiles("vllm:time_to_first_token_seconds", _VLLM, by="model_name"),
                    limit=1.0,
                ),
                Panel(
                    "Between two tokens",
                    "Speed of writing: at 0.02 s a token an answer of 400 tokens takes 8 s.",
                    Unit.SECONDS,
                    percentiles("vllm:inter_token_latency_seconds", _VLLM, by="model_name"),
                    limit=0.02,
                ),
                Panel(
                    "Whole request",
                    "From arrival to the last token.",
                    Unit.SECONDS,
                    percentiles("vllm:e2e_request_latency_seconds", _VLLM, by="model_name"),
                ),
            ],
        ),
    ],
)
