"""Figures of a PDF page: where many shapes or a picture stand together, and the text in them."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from ingest_svc.parsing.pdf_line_text import line_text
from ingest_svc.parsing.pdf_model import Box, PdfFigure, PdfPage, Word, box_of, inside, union
from ingest_svc.parsing.pdf_regions import rows_of

# Shapes nearer than this belong together, points.
_MESH = 12.0
_MIN_SHAPES = 6
# Share of the page that a figure covers. What is less than four lines high (points) is the ornament of a
# heading.
_MIN_AREA = 0.015
_MAX_AREA = 0.8
_MIN_SIDE = 50.0
# Rows of labels outside a drawing: ticks, title of the axis.
_LABEL_ROWS = 3
# A row of so many words is prose; a figure has few of them.
_PROSE_WORDS = 7
_MAX_PROSE = 0.35
# Larger than the text by this factor is a title, no label.
_TITLE_SIZE = 1.4


def figures(page: PdfPage, words: Sequence[Word], taken: Sequence[Box]) -> tuple[list[PdfFigure], list[Word]]:
    """Figures with text in them, and the words that are in none.

    Args:
        page: shapes and pictures.
        words: those that are in no table.
        taken: boxes of tables; their rules are no drawing.
    """
    area = page.width * page.height
    if area <= 0:
        return [], list(words)
    shapes = [
        box
        for box in page.shapes
        if not any(_within(box, table) for table in taken)
        and (box[2] - box[0]) * (box[3] - box[1]) < 0.5 * area
        and not (box[2] - box[0] > 0.75 * page.width and box[3] - box[1] < 3)
    ]
    boxes = [box for box, count in _clusters(shapes) if count >= _MIN_SHAPES] + list(page.images)
    sizes = sorted(word.size for word in words)
    middle = sizes[len(sizes) // 2] if sizes else 0.0
    # Labels of axes stand outside the drawing, set smaller than the text.
    small = 0.9 * middle
    # Titles on banners and in boxes are drawn upon, but no labels.
    labels = [word for word in words if word.size < _TITLE_SIZE * middle and not word.turned]
    found: list[PdfFigure] = []
    used: set[int] = set()
    for box in sorted(boxes, key=lambda item: -(item[2] - item[0]) * (item[3] - item[1])):
        share = (box[2] - box[0]) * (box[3] - box[1]) / area
        own, box = _with_labels(box, [word for word in labels if id(word) not in used], small)
        low = min(box[2] - box[0], box[3] - box[1]) < _MIN_SIDE
        if low or not _MIN_AREA <= share <= _MAX_AREA or not own or _is_prose(own):
            continue
        # The title of an axis runs up its side.
        turned = [
            word
            for word in words
            if word.turned and id(word) not in used and inside(word, _padded(box, 2 * word.size))
        ]
        used.update(map(id, own + turned))
        text = " ".join([*(line_text(row) for row in rows_of(own)), *(word.text for word in turned)])
        found.append(PdfFigure(text, box, page.number))
    return found, [word for word in words if id(word) not in used]


def _with_labels(box: Box, words: Sequence[Word], small: float) -> tuple[list[Word], Box]:
    """Words in a drawing and its small labels around it, row by row, and the box around all."""
    own: list[Word] = []
    known: set[int] = set()
    for _ in range(_LABEL_ROWS):
        more = [
            word
            for word in words
            if id(word) not in known
            and (
                inside(word, _padded(box, 2))
                or (word.size < small and _touches(word, _padded(box, 2 * word.size)))
            )
        ]
        if not more:
            break
        own += more
        known.update(map(id, more))
        box = union([box, *map(box_of, more)])
    return own, box


def _touches(word: Word, box: Box) -> bool:
    return word.x0 < box[2] and word.x1 > box[0] and word.top < box[3] and word.bottom > box[1]


def _padded(box: Box, by: float) -> Box:
    return box[0] - by, box[1] - by, box[2] + by, box[3] + by


def _within(inner: Box, outer: Box) -> bool:
    return (
        inner[0] >= outer[0] - 4
        and inner[1] >= outer[1] - 4
        and inner[2] <= outer[2] + 4
        and inner[3] <= outer[3] + 4
    )


def _is_prose(words: Sequence[Word]) -> bool:
    rows = rows_of(words)
    long = sum(len(row) for row in rows if len(row) >= _PROSE_WORDS)
    return long > _MAX_PROSE * len(words) and len(words) >= 20


def _clusters(shapes: Sequence[Box]) -> list[tuple[Box, int]]:
    """Boxes around shapes that lie near each other, and how many; a mesh keeps thousands quick."""
    mesh: dict[tuple[int, int], list[int]] = {}
    for at, box in enumerate(shapes):
        for place in _meshes(box):
            mesh.setdefault(place, []).append(at)
    clusters: list[tuple[Box, int]] = []
    waiting = set(mesh)
    while waiting:
        queue = deque([waiting.pop()])
        members: set[int] = set()
        while queue:
            column, row = queue.popleft()
            members.update(mesh[column, row])
            for near in ((column + dx, row + dy) for dx in (-1, 0, 1) for dy in (-1, 0, 1)):
                if near in waiting:
                    waiting.remove(near)
                    queue.append(near)
        clusters.append((union(shapes[at] for at in members), len(members)))
    return clusters


def _meshes(box: Box) -> list[tuple[int, int]]:
    """Mesh cells along the outline of a box: a large frame does not swallow what stands inside it alone."""
    x0, top, x1, bottom = (int(value // _MESH) for value in box)
    across = [(x, y) for x in range(x0, x1 + 1) for y in (top, bottom)]
    return across + [(x, y) for y in range(top, bottom + 1) for x in (x0, x1)]
