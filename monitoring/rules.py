"""Prometheus rules as values, and the two forms in which they are written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Severity = Literal["critical", "warning"]


@dataclass(frozen=True, slots=True)
class Recording:
    """A recording rule.

    Attributes:
        record: name of the new series.
        expr: PromQL.
        labels: added to every sample.
    """

    record: str
    expr: str
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Alert:
    """An alerting rule. Rules of one name share one runbook page.

    Attributes:
        name: also the name of the page, docs/runbooks/NAME.md.
        severity: critical = somebody is paged now; warning = somebody looks within the working day.
        expr: PromQL.
        hold: how long it must be true, e.g. "5m"; "0m" = at once.
        summary: one line for the pager; may use {{ $labels.x }}.
        description: what it means and for whom; may use {{ $value }}.
        labels: beside severity.
    """

    name: str
    severity: Severity
    expr: str
    hold: str
    summary: str
    description: str
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Group:
    """Rules that are evaluated together, in this order.

    Attributes:
        name: without the prefix "radref-"; also the name of its file.
        rules: at least one.
        interval: seconds between evaluations.
    """

    name: str
    rules: Sequence[Recording | Alert]
    interval: int = 30


def rule_group(group: Group, runbooks: str) -> dict[str, Any]:
    """The group as Prometheus reads it.

    Args:
        runbooks: URL under which docs/runbooks is served, without a slash at its end.
    """
    return {
        "name": f"radref-{group.name}",
        "interval": f"{group.interval}s",
        "rules": [_rule(rule, runbooks) for rule in group.rules],
    }


def rule_file(group: Group, runbooks: str) -> dict[str, Any]:
    """A rule file of a plain Prometheus. Arguments as of `rule_group`."""
    return {"groups": [rule_group(group, runbooks)]}


def prometheus_rule(group: Group, runbooks: str) -> dict[str, Any]:
    """The custom resource of the Prometheus operator. Arguments as of `rule_group`."""
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": {
            "name": f"radref-{group.name}",
            "labels": {"app.kubernetes.io/name": "radref", "app.kubernetes.io/component": "monitoring"},
        },
        "spec": rule_file(group, runbooks),
    }


def _rule(rule: Recording | Alert, runbooks: str) -> dict[str, Any]:
    if isinstance(rule, Recording):
        made: dict[str, Any] = {"record": rule.record, "expr": rule.expr}
        return {**made, "labels": dict(rule.labels)} if rule.labels else made
    return {
        "alert": rule.name,
        "expr": rule.expr,
        "for": rule.hold,
        "labels": {"severity": rule.severity, **rule.labels},
        "annotations": {
            "summary": rule.summary,
            "description": rule.description,
            "runbook_url": f"{runbooks}/{rule.name}.md",
        },
    }
