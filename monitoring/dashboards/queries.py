"""Pieces of PromQL that panels share."""

from __future__ import annotations

from collections.abc import Sequence

from monitoring.dashboards.board import Query

NAMESPACE = 'namespace=~"$namespace"'
RPC = "radref_rpc_server_duration_seconds"
PERCENTILES = (50, 95, 99)


def selector(metric: str, *matchers: str) -> str:
    """The metric in the chosen namespaces."""
    return f"{metric}{{{', '.join((NAMESPACE, *matchers))}}}"


def rate(metric: str, *matchers: str, by: str = "") -> str:
    """Events a second, summed up by the labels `by` ("a, b")."""
    inner = f"(rate({selector(metric, *matchers)}[$__rate_interval]))"
    return f"sum by ({by}) {inner}" if by else f"sum{inner}"


def share(part: str, whole: str) -> str:
    """The quotient; nothing where nothing happened."""
    return f"{part}\n/ {whole}"


def failing(*matchers: str) -> str:
    """Share of calls that did not end OK by method; 0, not nothing, where all did."""
    total = rate(f"{RPC}_count", *matchers, by="method")
    bad = rate(f"{RPC}_count", *matchers, 'code!="OK"', by="method")
    return f"({bad}\nor 0 * {total})\n/ {total}"


def percentile(percent: int, histogram: str, *matchers: str, by: str = "") -> str:
    """A percentile over all pods, from the sum of their buckets: percentiles cannot be added up."""
    labels = f"{by}, le" if by else "le"
    return f"histogram_quantile(0.{percent:02d}, {rate(f'{histogram}_bucket', *matchers, by=labels)})"


def percentiles(
    histogram: str, *matchers: str, by: str = "", percents: Sequence[int] = PERCENTILES
) -> list[Query]:
    """p50, p95 and p99, one line for each value of `by`."""
    name = " ".join(f"{{{{{label.strip()}}}}}" for label in by.split(",") if label)
    return [
        Query(percentile(percent, histogram, *matchers, by=by), f"p{percent} {name}".strip())
        for percent in percents
    ]


def job(name: str) -> str:
    """Matcher of one service's pods."""
    return f'job="{name}"'
