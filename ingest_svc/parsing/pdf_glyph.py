"""One character of a PDF page as its text sees it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Glyph:
    """A character; points from the page's top left, `base` is the height of its base line."""

    text: str
    x0: float
    top: float
    x1: float
    bottom: float
    size: float
    font: str
    base: float = 0.0
