"""What can be asked for: radref's own metrics, the captured pages, and what Prometheus adds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from prometheus_client import Counter, Gauge, Histogram
from prometheus_client.parser import text_string_to_metric_families

from radref.service import metrics
from tests.monitoring.queries import rules

PAGES = Path(__file__).parent / "pages"
# Of the target, as every scrape configuration of a pod sets them.
TARGET_LABELS = frozenset({"job", "instance", "namespace"})


@dataclass(frozen=True, slots=True)
class Known:
    """A series.

    Attributes:
        kind: "counter", "gauge", "bucket" or "recorded".
        labels: that it has, those of its target included.
        bounds: of a bucket, as `le` writes them.
    """

    kind: str
    labels: frozenset[str]
    bounds: frozenset[str] = frozenset()


def known_series() -> dict[str, Known]:
    """By name."""
    return dict([*_own(), *_captured(), *_added()])


def _own() -> Iterator[tuple[str, Known]]:
    for metric in vars(metrics).values():
        if not isinstance(metric, Counter | Gauge | Histogram):
            continue
        labels = TARGET_LABELS | set(metric._labelnames)
        name = metric._name
        if isinstance(metric, Histogram):
            bounds = frozenset(
                "+Inf" if bound == float("inf") else str(bound) for bound in metric._upper_bounds
            )
            yield f"{name}_bucket", Known("bucket", labels | {"le"}, bounds)
            yield f"{name}_count", Known("counter", labels)
        elif isinstance(metric, Counter):
            yield f"{name}_total", Known("counter", labels)
        else:
            yield name, Known("gauge", labels)
    # prometheus_client's own, about the process.
    for name, kind in (
        ("process_cpu_seconds_total", "counter"),
        ("process_resident_memory_bytes", "gauge"),
        ("process_start_time_seconds", "gauge"),
    ):
        yield name, Known(kind, TARGET_LABELS)


def _captured() -> Iterator[tuple[str, Known]]:
    for path in sorted(PAGES.glob("*-after.prom")):
        page = path.read_text("utf-8")
        for family in text_string_to_metric_families(page):
            for sample in family.samples:
                kind = "bucket" if sample.name.endswith("_bucket") else "gauge"
                if family.type == "counter" or sample.name.endswith("_count"):
                    kind = "counter"
                # The parser gives every counter the ending that OpenMetrics asks for; Triton's have none.
                name = sample.name if f"\n{sample.name}{{" in page else sample.name.removesuffix("_total")
                yield name, Known(kind, TARGET_LABELS | set(sample.labels))


def _added() -> Iterator[tuple[str, Known]]:
    yield "up", Known("gauge", TARGET_LABELS)
    for rule in rules():
        if "record" in rule:
            # Named by what it sums up; `by` of the rule is checked with the rule's own query.
            yield str(rule["record"]), Known("recorded", TARGET_LABELS | {"slo", "service", "method"})
