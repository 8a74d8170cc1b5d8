"""Ruled tables: rules of a PDF page to cells, and their words to a grid of text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pdfplumber.table import cells_to_tables, edges_to_intersections, intersections_to_cells, merge_edges

from ingest_svc.parsing.pdf_model import Box, union

# Rules this near to each other meet, points (pdfplumber's defaults).
_NEAR = 3.0
_MIN_RULES = 4
_MAX_RULES = 4000


@dataclass(frozen=True, slots=True)
class Grid:
    """Cells of one table as drawn, and their place in rows and columns.

    Attributes:
        cells: box, first row, first column, rows and columns spanned.
        columns: left edges of the columns, points.
        rows: number of rows.
    """

    box: Box
    cells: tuple[tuple[Box, int, int, int, int], ...]
    columns: tuple[float, ...]
    rows: int


def find_grids(rules: Sequence[Box]) -> list[Grid]:
    """Grids of at least two cells; sides that the drawing leaves open are closed first."""
    if not _MIN_RULES <= len(rules) <= _MAX_RULES:
        return []
    edges = merge_edges([_edge(rule) for rule in rules], _NEAR, _NEAR, _NEAR, _NEAR)
    edges = [edge for edge in edges if max(edge["x1"] - edge["x0"], edge["bottom"] - edge["top"]) >= 3]
    edges = edges + _closing(edges)
    cells = intersections_to_cells(edges_to_intersections(edges, _NEAR, _NEAR))
    return [_grid(group) for group in cells_to_tables(cells) if len(group) >= 2]


def _edge(rule: Box) -> dict[str, Any]:
    x0, top, x1, bottom = rule
    flat = x1 - x0 >= bottom - top
    return {
        "x0": x0,
        "x1": x1,
        "top": top,
        "bottom": bottom,
        "width": x1 - x0,
        "height": bottom - top,
        "orientation": "h" if flat else "v",
    }


def _closing(edges: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Edges for the outer sides of tables that are drawn with inner rules only.

    Where the rules of a table end at one place, that is its side, drawn or not.
    """
    added: list[dict[str, Any]] = []
    for group in _groups(edges):
        flat = [edge for edge in group if edge["orientation"] == "h"]
        steep = [edge for edge in group if edge["orientation"] == "v"]
        if len(steep) >= 2 and flat:
            left, right = min(e["x0"] for e in group), max(e["x1"] for e in group)
            for y, end in (
                (min(e["top"] for e in steep), "top"),
                (max(e["bottom"] for e in steep), "bottom"),
            ):
                meeting = [edge["x0"] for edge in steep if abs(edge[end] - y) <= _NEAR]
                if len(meeting) >= 2:
                    added.append(_edge((left, y, right, y)))
                    flat.append(added[-1])
        if len(flat) >= 2 and steep:
            for x, end in ((min(e["x0"] for e in flat), "x0"), (max(e["x1"] for e in flat), "x1")):
                meeting = [edge["top"] for edge in flat if abs(edge[end] - x) <= _NEAR]
                if len(meeting) >= 2:
                    added.append(_edge((x, min(meeting), x, max(meeting))))
    return added


def _groups(edges: Sequence[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Edges that touch each other, directly or through others."""
    groups: list[tuple[list[dict[str, Any]], Box]] = []
    for edge in sorted(edges, key=lambda item: item["top"]):
        members = [edge]
        box: Box = (edge["x0"], edge["top"], edge["x1"], edge["bottom"])
        rest: list[tuple[list[dict[str, Any]], Box]] = []
        for others, place in groups:
            if _touch(place, box) and any(_touch(_box(one), _box(edge)) for one in others):
                members = others + members
                box = union((place, box))
            else:
                rest.append((others, place))
        groups = [*rest, (members, box)]
    return [members for members, _ in groups]


def _box(edge: dict[str, Any]) -> Box:
    return edge["x0"], edge["top"], edge["x1"], edge["bottom"]


def _touch(first: Box, second: Box) -> bool:
    return (
        first[0] <= second[2] + _NEAR
        and second[0] <= first[2] + _NEAR
        and first[1] <= second[3] + _NEAR
        and second[1] <= first[3] + _NEAR
    )


def _grid(cells: Sequence[Box]) -> Grid:
    lefts = _levels([cell[0] for cell in cells])
    tops = _levels([cell[1] for cell in cells])
    placed = []
    for cell in cells:
        column, row = _at(lefts, cell[0]), _at(tops, cell[1])
        wide = max(1, sum(column < at and left < cell[2] - _NEAR for at, left in enumerate(lefts)) + 1)
        tall = max(1, sum(row < at and top < cell[3] - _NEAR for at, top in enumerate(tops)) + 1)
        placed.append((cell, row, column, tall, wide))
    return Grid(union(cells), tuple(placed), tuple(lefts), len(tops))


def _levels(values: Sequence[float]) -> list[float]:
    found: list[float] = []
    for value in sorted(values):
        if not found or value - found[-1] > _NEAR:
            found.append(value)
    return found


def _at(levels: Sequence[float], value: float) -> int:
    return min(range(len(levels)), key=lambda at: abs(levels[at] - value))
