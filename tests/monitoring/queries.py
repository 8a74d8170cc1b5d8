"""Every query of the committed dashboards and rules, and what it asks for."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import promql_parser
import yaml

ROOT = Path(__file__).parents[2]
DASHBOARDS = ROOT / "k8s/base/dashboards"
RULE_FILES = ROOT / "monitoring/rule_files"


@dataclass(frozen=True, slots=True)
class Asked:
    """A query.

    Attributes:
        where: the panel or rule it stands in.
        expr: PromQL; Grafana's variables are filled in.
        kind: "panel", "record" or "alert".
    """

    where: str
    expr: str
    kind: str

    @property
    def tree(self) -> promql_parser.Expr:
        return promql_parser.parse(self.expr)

    def nodes(self) -> list[promql_parser.Expr]:
        """Every node of its tree, parents first."""
        found: list[promql_parser.Expr] = []
        promql_parser.walk(self.tree, found.append)  # type: ignore[arg-type]
        return found

    def selectors(self) -> list[promql_parser.VectorSelector]:
        """What it reads, from left to right."""
        return [node for node in self.nodes() if isinstance(node, promql_parser.VectorSelector)]


def panels() -> list[tuple[str, Mapping[str, object]]]:
    """("dashboard / title", panel) of every panel that is not a row."""
    found = []
    for path in sorted(DASHBOARDS.glob("*.json")):
        board = json.loads(path.read_text("utf-8"))
        found += [
            (f"{board['title']}: {panel['title']}", panel)
            for panel in board["panels"]
            if panel["type"] != "row"
        ]
    return found


def dashboard_queries(rate_interval: str = "5m") -> list[Asked]:
    """Of all panels."""
    return [
        Asked(where, filled(target["expr"], rate_interval), "panel")
        for where, panel in panels()
        for target in panel["targets"]  # type: ignore[attr-defined]
    ]


def rules() -> Iterator[dict[str, object]]:
    """Every recording and alerting rule."""
    for path in sorted(RULE_FILES.glob("*.yaml")):
        for group in yaml.safe_load(path.read_text("utf-8"))["groups"]:
            yield from group["rules"]


def rule_queries() -> list[Asked]:
    """Of all rules."""
    return [
        Asked(
            str(rule.get("alert") or rule["record"]),
            str(rule["expr"]),
            "alert" if "alert" in rule else "record",
        )
        for rule in rules()
    ]


def filled(expr: str, rate_interval: str) -> str:
    """With values in place of Grafana's variables, as it would send it."""
    text = expr.replace("$__rate_interval", rate_interval).replace("$namespace", ".*")
    assert "$" not in text, f"a variable that no test knows: {text}"
    return text
