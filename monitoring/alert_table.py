"""The table of docs/alerts.md."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from monitoring.rules import Alert, Group
from monitoring.slos import SLOS

START, END = "<!-- table: written by `make monitoring` -->", "<!-- end of table -->"


def with_table(page: str, groups: Sequence[Group]) -> str:
    """The page with a fresh table between its marks."""
    before, _, rest = page.partition(START)
    _, found, after = rest.partition(END)
    if not found:
        raise ValueError(f"the page lacks {START} or {END}")
    table = "".join(f"{line}\n" for line in _lines(groups))
    return f"{before}{START}\n{table}{END}{after}"


def _lines(groups: Sequence[Group]) -> Iterator[str]:
    objectives = {slo.key: slo.title for slo in SLOS}
    yield "| alert | severity | SLO, or what it watches | windows | runbook |"
    yield "|---|---|---|---|---|"
    for rule in (rule for group in groups for rule in group.rules):
        if isinstance(rule, Alert):
            cells = (rule.name, rule.severity, _watched(rule, objectives), _windows(rule), _page(rule))
            yield f"| {' | '.join(cells)} |"


def _watched(rule: Alert, objectives: dict[str, str]) -> str:
    slo = rule.labels.get("slo")
    return objectives[slo] if slo else rule.summary.replace("{{ $labels.", "`").replace(" }}", "`")


def _windows(rule: Alert) -> str:
    if "slo" in rule.labels:
        return f"{rule.labels['long_window']} and {rule.labels['short_window']}"
    return "at once" if rule.hold == "0m" else f"for {rule.hold}"


def _page(rule: Alert) -> str:
    return f"[page](runbooks/{rule.name}.md)"
