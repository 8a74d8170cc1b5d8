"""Charts of a presentation as tables: categories down, series across, the values as stored in the file."""

from __future__ import annotations

from typing import Any

from ingest_svc.cleaning.spaces import one_line
from ingest_svc.document import Block
from ingest_svc.parsing.blocks import Pages, paragraph, table

# A chart with more points is a curve, not a table a reader could quote.
_MAX_POINTS = 2000


def chart_blocks(chart: Any, pages: Pages) -> list[Block]:
    """The chart's title as a paragraph, and a table of its points where it has categories."""
    blocks: list[Block] = []
    title = one_line(chart.chart_title.text_frame.text) if chart.has_title else ""
    if title:
        blocks.append(paragraph(title, pages))
    for plot in chart.plots:
        names = [one_line(str(label)) for label in plot.categories]
        series = list(plot.series)
        if not names or len(names) * max(1, len(series)) > _MAX_POINTS:
            continue
        rows = [["", *(one_line(each.name or "") for each in series)]]
        values = [list(each.values) for each in series]
        for at, name in enumerate(names):
            rows.append([name, *(_shown(column[at]) if at < len(column) else "" for column in values)])
        made = table(rows, pages)
        if made is not None:
            blocks.append(made)
    return blocks


def _shown(value: float | None) -> str:
    # 15 digits are what the file format keeps; the rest is binary noise.
    return "" if value is None else f"{value:.15g}"
