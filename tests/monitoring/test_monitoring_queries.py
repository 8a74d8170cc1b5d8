"""No query over a metric, label, bucket or scrape job that does not exist; no averages of times."""

from __future__ import annotations

import promql_parser
import pytest

from monitoring import names
from tests.monitoring.known_metrics import Known, known_series
from tests.monitoring.queries import Asked, dashboard_queries, rule_queries

QUERIES = [*dashboard_queries(), *rule_queries()]
KNOWN = known_series()
JOBS = {*names.SERVICES, names.TRITON, names.VLLM}
RATES = {"rate", "increase", "irate"}


def ids(asked: Asked) -> str:
    return f"{asked.kind} {asked.where}"


def test_there_are_queries() -> None:
    assert {asked.kind for asked in QUERIES} == {"panel", "record", "alert"}
    assert len(QUERIES) > 100


@pytest.mark.parametrize("asked", QUERIES, ids=ids)
def test_every_series_and_label_exists(asked: Asked) -> None:
    for selector in asked.selectors():
        known = KNOWN.get(selector.name or "")
        assert known is not None, f"no such metric: {selector.name}"
        for matcher in selector.matchers.matchers:
            assert matcher.name in known.labels, f"{selector.name} has no label {matcher.name}"
            if matcher.name == "le":
                assert matcher.value in known.bounds, f"{selector.name} has no bucket {matcher.value}"
            if matcher.name == "job" and matcher.op == promql_parser.MatchOp.Equal:
                assert matcher.value in JOBS


@pytest.mark.parametrize("asked", QUERIES, ids=ids)
def test_labels_summed_by_exist(asked: Asked) -> None:
    for node in asked.nodes():
        if not isinstance(node, promql_parser.AggregateExpr) or node.modifier is None:
            continue
        inside = Asked(asked.where, node.expr.prettify(), asked.kind).selectors()
        labels = set().union(*(_known(selector).labels for selector in inside))
        assert set(node.modifier.labels) <= labels, f"{node.modifier.labels} of {labels}"


@pytest.mark.parametrize("asked", QUERIES, ids=ids)
def test_rates_are_of_counters_and_percentiles_of_buckets(asked: Asked) -> None:
    for node in asked.nodes():
        if not isinstance(node, promql_parser.Call) or not node.args:
            continue
        inside = Asked(asked.where, node.args[-1].prettify(), asked.kind).selectors()
        kinds = {_known(selector).kind for selector in inside}
        if node.func.name in RATES:
            assert kinds <= {"counter", "bucket"}, f"{node.func.name} of a gauge"
        if node.func.name == "histogram_quantile":
            assert kinds == {"bucket"}


@pytest.mark.parametrize("asked", QUERIES, ids=ids)
def test_times_are_never_averaged(asked: Asked) -> None:
    assert not any((selector.name or "").endswith("_sum") for selector in asked.selectors())
    for node in asked.nodes():
        if isinstance(node, promql_parser.AggregateExpr):
            assert str(node.op) != "avg"
        if isinstance(node, promql_parser.Call):
            assert node.func.name != "avg_over_time"


@pytest.mark.parametrize("asked", [one for one in QUERIES if one.kind == "panel"], ids=ids)
def test_panels_show_the_chosen_namespace(asked: Asked) -> None:
    # The document counts are shared with their alerts, which look at every namespace.
    for selector in asked.selectors():
        if "sum by (namespace) (max by" not in asked.expr:
            assert "namespace" in [matcher.name for matcher in selector.matchers.matchers]


def _known(selector: promql_parser.VectorSelector) -> Known:
    return KNOWN[selector.name or ""]
