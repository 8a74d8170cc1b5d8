"""The shapes of a slide as blocks: text frames with list levels, tables, charts, diagrams, groups."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pptx.enum.shapes import PP_PLACEHOLDER
from pptx.oxml import parse_xml
from pptx.oxml.ns import qn

from ingest_svc.cleaning.spaces import one_line
from ingest_svc.document import Block, BlockKind
from ingest_svc.parsing.blocks import Pages, bullet_list, paragraph, table
from ingest_svc.parsing.pptx_charts import chart_blocks
from ingest_svc.parsing.pptx_text import Numbers, paragraph_text

_TITLES = frozenset({PP_PLACEHOLDER.TITLE, PP_PLACEHOLDER.CENTER_TITLE, PP_PLACEHOLDER.VERTICAL_TITLE})
# Repeated on every slide: the page furniture of a presentation.
_FURNITURE = frozenset(
    {PP_PLACEHOLDER.DATE, PP_PLACEHOLDER.FOOTER, PP_PLACEHOLDER.HEADER, PP_PLACEHOLDER.SLIDE_NUMBER}
)
# Their paragraphs have bullets unless they say otherwise; the layout that says so is not resolved.
_BULLETED = frozenset({PP_PLACEHOLDER.BODY, PP_PLACEHOLDER.OBJECT, PP_PLACEHOLDER.VERTICAL_BODY})
# Shapes whose upper edges differ by less stand side by side and are read from left to right (EMU; 0.2 inch).
_SAME_ROW = 182_880
_MAX_HEADING = 120
_DIAGRAM = "http://schemas.openxmlformats.org/drawingml/2006/diagram"
_COMPATIBILITY = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_MAX_DEPTH = 20


class SlideShapes:
    """Reads the shapes of one slide and counts its pictures.

    Args:
        slide: a python-pptx slide.
        pages: pages of its blocks.

    Attributes:
        pictures: pictures seen so far.
        picture_area: their areas together, square EMU.
    """

    def __init__(self, slide: Any, pages: Pages) -> None:
        self._slide = slide
        self._pages = pages
        self.pictures = 0
        self.picture_area = 0.0
        _resolve_alternatives(slide._element)

    def blocks(self, skip: Any | None = None) -> list[Block]:
        """Blocks of all shapes but `skip`, in reading order."""
        left_out = skip.shape_id if skip is not None else None
        shapes = [shape for shape in self._slide.shapes if shape.shape_id != left_out]
        return self._read(shapes, 0)

    def _read(self, shapes: Iterable[Any], depth: int) -> list[Block]:
        found: list[Block] = []
        for shape in _in_reading_order(shapes):
            found.extend(self._shape(shape, depth))
        return found

    def _shape(self, shape: Any, depth: int) -> list[Block]:
        kind = _placeholder_type(shape)
        if kind in _FURNITURE or _is_hidden(shape):
            return []
        if shape._element.tag == qn("p:grpSp"):
            return self._read(shape.shapes, depth + 1) if depth < _MAX_DEPTH else []
        if shape._element.tag == qn("p:pic"):
            self.pictures += 1
            self.picture_area += float(shape.width or 0) * float(shape.height or 0)
            return []
        if getattr(shape, "has_table", False):
            made = table(_table_rows(shape.table), self._pages)
            return [made] if made is not None else []
        if getattr(shape, "has_chart", False):
            return chart_blocks(shape.chart, self._pages)
        if shape._element.tag == qn("p:graphicFrame"):
            return self._diagram(shape)
        if not shape.has_text_frame:
            return []
        return frame_blocks(shape.text_frame, self._pages, bulleted=kind in _BULLETED)

    def _diagram(self, shape: Any) -> list[Block]:
        """The texts of a SmartArt drawing as a list; they stand in a part of their own."""
        ids = shape._element.find(f".//{{{_DIAGRAM}}}relIds")
        if ids is None:
            return []
        relation = self._slide.part.rels.get(ids.get(qn("r:dm")))
        if relation is None or relation.is_external:
            return []
        root = parse_xml(relation.target_part.blob)
        texts = [
            one_line(" ".join(part.text or "" for part in point.iter(qn("a:t"))))
            for point in root.iter(f"{{{_DIAGRAM}}}pt")
        ]
        lines = [f"- {text}" for text in texts if text]
        return [bullet_list(lines, self._pages)] if lines else []


def title_of(slide: Any) -> Any | None:
    """The title placeholder of a slide, None when it has none."""
    for shape in slide.placeholders:
        if shape.placeholder_format.type in _TITLES and shape.has_text_frame:
            return shape
    return None


def is_heading_like(block: Block) -> bool:
    """A short first line that ends like a title."""
    return (
        block.kind is BlockKind.PARAGRAPH
        and len(block.text) <= _MAX_HEADING
        and block.text[-1] not in ".;:,!"
        and any(char.isalpha() for char in block.text)
    )


def frame_blocks(frame: Any, pages: Pages, *, bulleted: bool) -> list[Block]:
    """Blocks of a text frame: neighbouring list paragraphs are one list, indented by their level.

    Args:
        frame: a python-pptx text frame.
        pages: pages of the blocks.
        bulleted: paragraphs that say nothing about bullets have one.
    """
    blocks: list[Block] = []
    items: list[str] = []
    numbers = Numbers()
    paragraphs = [(part, paragraph_text(part._p)) for part in frame.paragraphs]
    several = sum(bool(text) for _, text in paragraphs) > 1
    for part, text in paragraphs:
        if not text:
            continue
        label = numbers.label(part._p, part.level, default="-" if bulleted and several else "")
        if label:
            items.append(f"{'  ' * part.level}{label} {text}")
            continue
        if items:
            blocks.append(bullet_list(items, pages))
            items = []
        blocks.append(paragraph(text, pages))
    if items:
        blocks.append(bullet_list(items, pages))
    return blocks


def _in_reading_order(shapes: Iterable[Any]) -> list[Any]:
    """Rows from top to bottom, each from left to right; shapes without a place (of a layout) come first."""
    placed = sorted(shapes, key=lambda shape: shape.top or 0)
    ordered: list[Any] = []
    row: list[Any] = []
    for shape in placed:
        if row and (shape.top or 0) - (row[0].top or 0) > _SAME_ROW:
            ordered.extend(sorted(row, key=lambda each: each.left or 0))
            row = []
        row.append(shape)
    ordered.extend(sorted(row, key=lambda each: each.left or 0))
    return ordered


def _placeholder_type(shape: Any) -> Any | None:
    return shape.placeholder_format.type if shape.is_placeholder else None


def _is_hidden(shape: Any) -> bool:
    named = shape._element.find(f".//{qn('p:cNvPr')}")
    return named is not None and named.get("hidden") in {"1", "true"}


def _resolve_alternatives(root: Any) -> None:
    """Newer drawings stand in `mc:Choice` elements, which python-pptx passes over."""
    for alternative in list(root.iter(f"{_COMPATIBILITY}AlternateContent")):
        parent = alternative.getparent()
        chosen = alternative.find(f"{_COMPATIBILITY}Choice")
        if parent is None or chosen is None:
            continue
        at = parent.index(alternative)
        parent[at : at + 1] = list(chosen)


def _table_rows(grid: Any) -> list[list[str]]:
    """Rows of cells; a merged cell repeats its text."""
    height, width = len(grid.rows), len(grid.columns)
    texts = [[""] * width for _ in range(height)]
    for row in range(height):
        for column in range(width):
            cell = grid.cell(row, column)
            if cell.is_spanned:
                continue
            text = one_line(" ".join(paragraph_text(part._p) for part in cell.text_frame.paragraphs))
            for down in range(cell.span_height if cell.is_merge_origin else 1):
                for right in range(cell.span_width if cell.is_merge_origin else 1):
                    if row + down < height and column + right < width:
                        texts[row + down][column + right] = text
    return texts
