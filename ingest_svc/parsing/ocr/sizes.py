"""Font sizes and weights from word boxes, which know only how far the letters of a word reach up and down."""

from __future__ import annotations

from statistics import median

import numpy as np
import numpy.typing as npt

from ingest_svc.parsing.ocr.engine import Line, Word
from ingest_svc.parsing.ocr.pixels import Ink

# Heights in font sizes, rounded means of the metrics of Liberation Serif, Liberation Sans and DejaVu Sans.
_X_HEIGHT = 0.52
_ASCENT = 0.71
_DESCENT = 0.21
_LOW = frozenset("acemnorsuvwxzагежзиклмнопстхчшъыьэюявё")
_DEEP = frozenset("gjpqyруфцщQ,;()[]{}|/\\")
_FLAT = frozenset("-–—_.,:;·•*°\"'’‘“”«»~=+<>^`")


def word_size(word: Word) -> float:
    """Font size of a word in pixels, 0 when its characters tell nothing (dashes, dots)."""
    telling = [char for char in word.text if char not in _FLAT]
    if not telling:
        return 0.0
    rise = _X_HEIGHT if all(char in _LOW for char in telling if char not in _DEEP) else _ASCENT
    fall = _DESCENT if any(char in _DEEP for char in word.text) else 0.0
    if all(char in _DEEP and char.islower() for char in telling):
        rise = _X_HEIGHT
    return (word.bottom - word.top) / (rise + fall)


def line_size(line: Line) -> float:
    """Font size of a line in pixels, 0 when it cannot be told."""
    sizes = [
        size for word in line.words if (size := word_size(word)) > 0 for _ in range(max(1, word.letters))
    ]
    return float(median(sizes)) if sizes else 0.0


def body_size(lines: tuple[Line, ...]) -> float:
    """Font size of most letters of the page in pixels, 0 for no lines."""
    sizes = [size for line in lines if (size := line_size(line)) > 0 for _ in range(len(line.text))]
    return float(median(sizes)) if sizes else 0.0


def stroke(line: Line, marks: Ink) -> float:
    """Mean width of the strokes of a line in pixels: twice the ink over its outline; 0 without ink."""
    area: npt.NDArray[np.bool_] = marks[line.top : line.bottom, line.left : line.right]
    if area.size == 0 or not area.any():
        return 0.0
    padded = np.pad(area, 1)
    inside = padded[1:-1, 1:-1]
    core = inside & padded[:-2, 1:-1] & padded[2:, 1:-1] & padded[1:-1, :-2] & padded[1:-1, 2:]
    outline = int(inside.sum() - core.sum())
    return 2.0 * float(inside.sum()) / outline if outline else 0.0
