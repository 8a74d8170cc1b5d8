"""Tables that go on over pages become one table under one header."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from ingest_svc.parsing.pdf_model import Element, PdfFigure, PdfLine, PdfTable

# "Table 3 (continued)", "Продолжение таблицы 3", "Fortsetzung von Tabelle 3".
_CONTINUED = re.compile(
    r"^\W*(?:(?:table|tab\.|таблица|табл\.|tabelle)\s*[\w.\-]*\W*(?:cont(?:inued|['’]?d|\.)|продолжение|окончание|"
    r"fortsetzung)|(?:продолжение|окончание)\s+(?:таблицы|табл\.)|fortsetzung)|[—–\-(]\s*(?:continued|cont['’]?d)\W*$",
    re.I,
)
# Share of the page height in which the first part must end and the next one begin.
_LOW, _HIGH = 0.6, 0.3
# Columns of one table begin at the same place on both pages, points.
_SAME_EDGE = 2.0


def joined_tables(elements: Sequence[Element], heights: Sequence[float]) -> list[Element]:
    """Elements with the parts of each table joined; "continued" lines between the parts go with the seam."""
    result: list[Element] = []
    for element in elements:
        if isinstance(element, PdfTable):
            at = _open_table(result, element)
            if at is not None:
                before = result[at]
                assert isinstance(before, PdfTable)
                if _goes_on(before, element, heights):
                    # Footnotes between the parts stay, after the table.
                    result[at:] = [
                        _joined(before, element),
                        *(item for item in result[at + 1 :] if not _is_continued(item)),
                    ]
                    continue
        result.append(element)
    return result


def _open_table(result: Sequence[Element], current: PdfTable) -> int | None:
    """Index of the table that `current` may go on with: only its notes or "continued" lines stand between."""
    for at in range(len(result) - 1, max(-1, len(result) - 8), -1):
        item = result[at]
        if isinstance(item, PdfTable):
            return at
        if isinstance(item, PdfFigure) or _is_continued(item):
            continue
        if not isinstance(item, PdfLine) or item.page >= current.page:
            return None
        # A note under the table, set small.
        before = next((one for one in reversed(result[:at]) if isinstance(one, PdfTable)), None)
        if before is None or item.page != before.last_page or item.size > 9.0:
            return None
    return None


def _is_continued(item: Element) -> bool:
    return isinstance(item, PdfLine) and len(item.text) < 160 and _CONTINUED.search(item.text) is not None


def _goes_on(before: PdfTable, current: PdfTable, heights: Sequence[float]) -> bool:
    if current.page != before.last_page + 1 or len(current.rows[0]) != len(before.rows[0]):
        return False
    if (
        before.end[3] < _LOW * heights[before.last_page - 1]
        or current.box[1] > _HIGH * heights[current.page - 1]
    ):
        return False
    if _same_header(before, current):
        return True
    width = max(before.end[2] - before.end[0], 1.0)
    steps = [abs(left - right) for left, right in zip(before.edges, current.edges, strict=True)]
    if max(steps) <= _SAME_EDGE:
        # Without rules the right side lies where the longest text of a part ends.
        return True
    near = sum(step <= 0.05 * width for step in steps)
    return near >= 0.75 * len(before.edges) and abs((current.box[2] - current.box[0]) - width) <= 0.15 * width


def _same_header(before: PdfTable, current: PdfTable) -> bool:
    return _folded(before.rows[0]) == _folded(current.rows[0])


def _folded(row: Sequence[str]) -> list[str]:
    return ["".join(cell.lower().split()) for cell in row]


def _joined(before: PdfTable, current: PdfTable) -> PdfTable:
    rows = list(current.rows[1:] if _same_header(before, current) else current.rows)
    above = list(before.rows)
    if rows and not rows[0][0] and len(above) > 1 and _is_rest(rows[0], above[-1]):
        above[-1] = tuple(
            f"{upper} {lower}".strip() for upper, lower in zip(above[-1], rows.pop(0), strict=True)
        )
    return replace(before, rows=(*above, *rows), last_page=current.page, end=current.box)


def _is_rest(row: Sequence[str], above: Sequence[str]) -> bool:
    """The rest of a row that the page end cut: every cell goes on in the middle of a sentence."""
    filled = [(upper, lower) for upper, lower in zip(above, row, strict=True) if lower]
    return bool(filled) and all(upper and lower[:1].islower() for upper, lower in filled)
