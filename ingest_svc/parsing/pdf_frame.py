"""Directions of text: pages turned by 90 degrees, upside down or mirrored are read as their text runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from ingest_svc.parsing.pdf_model import Box

_USUAL = ((1, 0), (0, -1))


@dataclass(frozen=True, slots=True)
class Frame:
    """Axes of a text on a page of width x height points.

    Attributes:
        along: direction in which the text runs, page axes with y up: (1, 0) is usual.
        down: direction of the next line: (0, -1) is usual. Not always along turned clockwise: mirrored text.
    """

    along: tuple[int, int]
    down: tuple[int, int]
    width: float
    height: float

    def box(self, x0: float, y0: float, x1: float, y1: float) -> Box:
        """(x0, top, x1, bottom) as the text sees it, of a box in page axes (y up)."""
        if self.along == (1, 0) and self.down == (0, -1):
            return x0, self.height - y1, x1, self.height - y0
        left, right = self._project(self.along, x0, y0, x1, y1)
        top, bottom = self._project(self.down, x0, y0, x1, y1)
        return left, top, right, bottom

    def depth(self, x: float, y: float) -> float:
        """How far down the text a point in page axes lies, points."""
        return self._project(self.down, x, y, x, y)[0]

    def size(self) -> tuple[float, float]:
        """Width and height of the page as the text sees it, points."""
        return (self.width, self.height) if self.along[0] else (self.height, self.width)

    def page_box(self, box: Box) -> Box:
        """(x0, y0, x1, y1) in page axes (y up) of a box as the text sees it."""
        x0, top, x1, bottom = box
        if self.along[0]:
            across = (x0, x1) if self.along[0] > 0 else (self.width - x1, self.width - x0)
            up = (self.height - bottom, self.height - top) if self.down[1] < 0 else (top, bottom)
        else:
            across = (top, bottom) if self.down[0] > 0 else (self.width - bottom, self.width - top)
            up = (x0, x1) if self.along[1] > 0 else (self.height - x1, self.height - x0)
        return across[0], up[0], across[1], up[1]

    def _project(
        self, axis: tuple[int, int], x0: float, y0: float, x1: float, y1: float
    ) -> tuple[float, float]:
        low, high, extent = (x0, x1, self.width) if axis[0] else (y0, y1, self.height)
        return (low, high) if axis[0] + axis[1] > 0 else (extent - high, extent - low)


def direction(matrix: tuple[float, ...], advance: float) -> tuple[tuple[int, int], tuple[int, int]]:
    """Axes (along, down) of a glyph from its text matrix; slanted text counts as its nearest quarter turn."""
    a, b, c, d = matrix[:4]
    if a > 0 and b == 0 and d > 0 and advance >= 0:
        return _USUAL
    sign = -1 if advance < 0 else 1  # a negative font size turns the glyph by 180 degrees
    along = (_sign(a) * sign, 0) if abs(a) >= abs(b) else (0, _sign(b) * sign)
    if along[0]:
        return along, (0, -_sign(d) * sign)
    return along, (-_sign(c) * sign, 0)


def main_direction(
    directions: Iterable[tuple[tuple[int, int], tuple[int, int]]],
) -> tuple[tuple[int, int], tuple[int, int]]:
    """The most common direction; left to right when there is no text."""
    counted = Counter(directions)
    return counted.most_common(1)[0][0] if counted else _USUAL


def _sign(value: float) -> int:
    return -1 if value < 0 else 1
