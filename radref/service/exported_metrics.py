"""What a service shows of the metrics.

Each process knows all of them; a queue of 0 that the gateway does not have would only be taken for a figure.
"""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client import REGISTRY, CollectorRegistry
from prometheus_client.metrics import MetricWrapperBase
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from radref.service import metrics

# By section of the settings. What stands in none of them is every service's.
METRICS_OF: dict[str, tuple[MetricWrapperBase, ...]] = {
    "gateway": (
        *(metrics.FIRST_STATEMENT_SECONDS, metrics.STAGE_SECONDS, metrics.ANSWERS, metrics.ABSTENTIONS),
        *(metrics.CITATIONS, metrics.GENERATION_TOKENS, metrics.AUDIT_FAILURES, metrics.RATE_LIMITED),
    ),
    "retrieval": (metrics.STAGE_SECONDS, metrics.DEGRADED, metrics.KB_DOCUMENTS),
    "inference": (metrics.MODEL_QUEUE_SECONDS, metrics.MODEL_COMPUTE_SECONDS),
    "ingest": (
        *(metrics.KB_DOCUMENTS, metrics.INGEST_STAGE_SECONDS, metrics.INGEST_QUEUE_DEPTH),
        *(metrics.INGEST_OLDEST_JOB_AGE, metrics.INDEX_DIVERGENCE, metrics.INDEX_VERIFIED),
        metrics.RATE_LIMITED,
    ),
}


class _Shown(Collector):
    def __init__(self, hidden: frozenset[str]) -> None:
        self._hidden = hidden

    def collect(self) -> Iterator[Metric]:
        return (family for family in REGISTRY.collect() if family.name not in self._hidden)


def exported_by(section: str) -> CollectorRegistry:
    """The metrics of one service and those of every process (radref's own, process_*, python_*).

    Args:
        section: of the settings, e.g. "gateway"; another name shows what every service has.
    """
    own = METRICS_OF.get(section, ())
    others = [each for each in {m for group in METRICS_OF.values() for m in group} if each not in own]
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Shown(frozenset(family.name for each in others for family in each.describe())))
    return registry
