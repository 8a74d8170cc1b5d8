"""What hides and joins the cells of each sheet; openpyxl's streaming reader does not tell."""

from __future__ import annotations

import io
import posixpath
import zipfile
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from typing import IO

from lxml import etree
from openpyxl.utils.cell import range_boundaries

_MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
_OFFICE_DOCUMENT = "/officeDocument"
_TRUE = frozenset({"1", "true"})
# A sheet with more merges is a drawing made of cells.
_MAX_MERGES = 50_000


@dataclass(slots=True)
class SheetLayout:
    """Layout of a sheet; rows and columns count from 1.

    Attributes:
        hidden_columns: (first, last) column of each hidden span.
        hidden_rows: hidden rows.
        merged: (first column, first row, last column, last row) of each merged range.
        uncomputed: formulas without a stored value.
    """

    hidden_columns: list[tuple[int, int]] = field(default_factory=list)
    hidden_rows: set[int] = field(default_factory=set)
    merged: list[tuple[int, int, int, int]] = field(default_factory=list)
    uncomputed: int = 0

    def shown_column(self, column: int) -> int | None:
        """The place of a column among the visible ones, from 1; None for a hidden one."""
        before = 0
        for first, last in self.hidden_columns:
            if first <= column <= last:
                return None
            before += last - first + 1 if last < column else 0
        return column - before

    def shown_merges(self) -> list[tuple[int, int, int, int]]:
        """The merged ranges among the visible rows and columns, those whose first cell is hidden left out."""
        hidden_rows = sorted(self.hidden_rows)
        shown: list[tuple[int, int, int, int]] = []
        for left, top, right, bottom in self.merged:
            column = self.shown_column(left)
            if column is None or top in self.hidden_rows:
                # Its text stands in the hidden first cell.
                continue
            row = top - bisect_left(hidden_rows, top)
            height = bottom - top + 1 - (bisect_right(hidden_rows, bottom) - bisect_left(hidden_rows, top))
            width = (
                right
                - left
                + 1
                - sum(max(0, min(last, right) - max(first, left) + 1) for first, last in self.hidden_columns)
            )
            shown.append((column, row, column + width - 1, row + height - 1))
        return shown


def read_layouts(data: bytes) -> dict[str, SheetLayout]:
    """The layout of each sheet by its title.

    Args:
        data: an archive that `check_package` accepted.
    """
    layouts: dict[str, SheetLayout] = {}
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        names = set(archive.namelist())
        workbook = _workbook_part(archive)
        targets = _relations(archive, workbook)
        for sheet in _root(archive, workbook).iter(f"{_MAIN}sheet"):
            part = targets.get(sheet.get(_RELATION) or "", ("", ""))[1]
            if part in names:
                with archive.open(part) as stream:
                    layouts[sheet.get("name") or ""] = _layout(stream)
    return layouts


def _root(archive: zipfile.ZipFile, part: str) -> etree._Element:
    return etree.fromstring(archive.read(part), etree.XMLParser(resolve_entities=False, no_network=True))


def _workbook_part(archive: zipfile.ZipFile) -> str:
    for kind, target in _relations(archive, "").values():
        if kind.endswith(_OFFICE_DOCUMENT):
            return target
    return "xl/workbook.xml"


def _relations(archive: zipfile.ZipFile, part: str) -> dict[str, tuple[str, str]]:
    """Type and target part of each relation of a part, by relation id."""
    folder, name = posixpath.split(part)
    listing = posixpath.join(folder, "_rels", f"{name}.rels")
    if listing not in archive.namelist():
        return {}
    found: dict[str, tuple[str, str]] = {}
    for relation in _root(archive, listing):
        if not isinstance(relation.tag, str) or relation.get("TargetMode") == "External":
            continue
        target = relation.get("Target") or ""
        place = target.lstrip("/") if target.startswith("/") else posixpath.join(folder, target)
        found[relation.get("Id") or ""] = (relation.get("Type") or "", posixpath.normpath(place))
    return found


def _layout(stream: IO[bytes]) -> SheetLayout:
    layout = SheetLayout()
    row_number = 0
    for _, element in etree.iterparse(
        stream,
        tag=[f"{_MAIN}col", f"{_MAIN}row", f"{_MAIN}mergeCell"],
        resolve_entities=False,
        no_network=True,
    ):
        if element.tag == f"{_MAIN}col":
            if element.get("hidden") in _TRUE:
                layout.hidden_columns.append((int(element.get("min")), int(element.get("max"))))
        elif element.tag == f"{_MAIN}row":
            row_number = int(element.get("r") or row_number + 1)
            if element.get("hidden") in _TRUE:
                layout.hidden_rows.add(row_number)
            layout.uncomputed += sum(
                cell.find(f"{_MAIN}f") is not None and not cell.findtext(f"{_MAIN}v") for cell in element
            )
        elif len(layout.merged) < _MAX_MERGES:
            left, top, right, bottom = range_boundaries(element.get("ref"))
            if left is not None and top is not None and right is not None and bottom is not None:
                layout.merged.append((left, top, right, bottom))
        element.clear()
        while element.getprevious() is not None:
            del element.getparent()[0]
    return layout
