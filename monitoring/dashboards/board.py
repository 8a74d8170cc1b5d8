"""A dashboard as a value: rows of panels, each with a question, a unit and queries; and its Grafana form."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import count
from typing import Literal

from grafana_foundation_sdk.builders import common, dashboard, prometheus, stat, timeseries
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models import common as shapes
from grafana_foundation_sdk.models.dashboard import (
    DashboardCursorSync,
    DashboardLinkType,
    DataSourceRef,
    Threshold,
    ThresholdsMode,
    VariableRefresh,
)

_GRID = 24
_STAT_HEIGHT, _GRAPH_HEIGHT = 5, 8


class Unit(StrEnum):
    """Grafana's ids of the units in use."""

    SECONDS = "s"
    DAYS = "d"
    SHARE = "percentunit"
    PER_SECOND = "cps"
    CALLS_PER_SECOND = "reqps"
    COUNT = "short"
    BYTES = "bytes"
    CORES = "none"
    UP = "bool_yes_no"


@dataclass(frozen=True, slots=True)
class Query:
    """PromQL and how its series are named.

    Attributes:
        expr: PromQL; $namespace and $__rate_interval are filled in by Grafana.
        legend: with {{label}} for values of labels.
    """

    expr: str
    legend: str


@dataclass(frozen=True, slots=True)
class Panel:
    """A graph, or a single number where `kind` is "stat".

    Attributes:
        title: what is shown, a few words.
        description: which question it answers and what to think of its values.
        unit: of all its series.
        queries: at least one.
        limit: value from which on it is bad: a red line, or a red number; None = no value is bad by itself.
        bad_below: the bad side of `limit` is below it.
        stacked: the series are parts of a whole.
        exemplars: show traces of single calls.
    """

    title: str
    description: str
    unit: Unit
    queries: Sequence[Query]
    kind: Literal["graph", "stat"] = "graph"
    limit: float | None = None
    bad_below: bool = False
    stacked: bool = False
    exemplars: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """Panels that answer one question together."""

    title: str
    panels: Sequence[Panel]


@dataclass(frozen=True, slots=True)
class Board:
    """A dashboard.

    Attributes:
        uid: part of its address and name of its file.
        title: after "radref / ".
        description: for whom it is.
        rows: from the first look to the details.
    """

    uid: str
    title: str
    description: str
    rows: Sequence[Row]


def grafana_json(board: Board) -> str:
    """The dashboard as Grafana imports it."""
    made = (
        dashboard.Dashboard(f"radref / {board.title}")
        .uid(board.uid)
        .description(board.description)
        .tags(["radref"])
        .readonly()
        .tooltip(DashboardCursorSync.CROSSHAIR)
        .time("now-6h", "now")
        .refresh("1m")
        .link(
            dashboard.DashboardLink("radref")
            .type(DashboardLinkType.DASHBOARDS)
            .tags(["radref"])
            .as_dropdown(True)
        )
        .with_variable(dashboard.DatasourceVariable("datasource").label("Data source").type("prometheus"))
        .with_variable(
            dashboard.QueryVariable("namespace")
            .label("Namespace")
            .query('label_values(up{job=~"radref-.*"}, namespace)')
            .datasource(_datasource())
            .refresh(VariableRefresh.ON_TIME_RANGE_CHANGED)
            .include_all(True)
            # Not a list of those found: without Kubernetes there is no such label, and that is fine.
            .all_value(".*")
        )
    )
    ids = count(1)
    for row in board.rows:
        made.with_row(dashboard.Row(row.title).id(next(ids)))
        for panel, span in zip(row.panels, _spans(row.panels), strict=True):
            built = _stat(panel, span) if panel.kind == "stat" else _graph(panel, span)
            made.with_panel(built.id(next(ids)))
    return json.dumps(made.build(), cls=JSONEncoder, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def _datasource() -> DataSourceRef:
    return DataSourceRef(type_val="prometheus", uid="${datasource}")


def _spans(panels: Sequence[Panel]) -> list[int]:
    """Widths: numbers share a line, graphs stand two or three to a line; every line is full."""
    stats = [panel for panel in panels if panel.kind == "stat"]
    graphs = len(panels) - len(stats)
    if stats and graphs:
        raise ValueError("a row is of numbers or of graphs")
    if stats:
        if _GRID % len(stats):
            raise ValueError(f"{len(stats)} numbers do not fill a line")
        return [_GRID // len(stats)] * len(stats)
    threes = graphs if graphs % 3 == 0 else 3 * (graphs // 3 - 1) if graphs % 3 == 1 else graphs - 2
    if graphs in (1, 2):
        return [_GRID // graphs] * graphs
    return [_GRID // 3] * threes + [_GRID // 2] * (graphs - threes)


def _graph(panel: Panel, span: int) -> timeseries.Panel:
    made = (
        timeseries.Panel()
        .title(panel.title)
        .description(panel.description)
        .datasource(_datasource())
        .unit(panel.unit)
        .min(0)
        .span(span)
        .height(_GRAPH_HEIGHT)
        .legend(
            common.VizLegendOptions()
            .display_mode(shapes.LegendDisplayMode.TABLE)
            .placement(shapes.LegendPlacement.BOTTOM)
            .show_legend(True)
            .calcs(["lastNotNull", "max"])
        )
        .tooltip(
            common.VizTooltipOptions().mode(shapes.TooltipDisplayMode.MULTI).sort(shapes.SortOrder.DESCENDING)
        )
        .fill_opacity(30 if panel.stacked else 5)
    )
    if panel.stacked:
        made.stacking(common.StackingConfig().mode(shapes.StackingMode.NORMAL))
    if panel.limit is not None:
        made.thresholds(_thresholds(panel))
        made.thresholds_style(
            common.GraphThresholdsStyleConfig().mode(shapes.GraphThresholdsStyleMode.DASHED)
        )
    for query, letter in zip(panel.queries, "ABCDEFGH", strict=False):
        made.with_target(_target(query, letter).exemplar(panel.exemplars))
    return made


def _stat(panel: Panel, span: int) -> stat.Panel:
    made = (
        stat.Panel()
        .title(panel.title)
        .description(panel.description)
        .datasource(_datasource())
        .unit(panel.unit)
        .span(span)
        .height(_STAT_HEIGHT)
        .reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]))
        .color_mode(
            shapes.BigValueColorMode.VALUE if panel.limit is None else shapes.BigValueColorMode.BACKGROUND
        )
        .thresholds(_thresholds(panel))
    )
    for query, letter in zip(panel.queries, "ABCDEFGH", strict=False):
        made.with_target(_target(query, letter))
    return made


def _target(query: Query, letter: str) -> prometheus.Dataquery:
    return prometheus.Dataquery().expr(query.expr).legend_format(query.legend).ref_id(letter).range()


def _thresholds(panel: Panel) -> dashboard.ThresholdsConfig:
    below, above = ("red", "green") if panel.bad_below else ("green", "red")
    steps = [Threshold(value=None, color=below if panel.limit is not None else "green")]
    if panel.limit is not None:
        steps.append(Threshold(value=panel.limit, color=above))
    return dashboard.ThresholdsConfig().mode(ThresholdsMode.ABSOLUTE).steps(steps)
