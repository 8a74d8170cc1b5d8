"""What a PDF page holds: characters, rules, images.

pdfplumber's own `page.chars` converts some twenty attributes of every character, which doubles the time of a
page (measured on a dense page of prose: 0.16 s more on 0.15 s); the words need eleven of them.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from pdfminer.layout import LTChar, LTContainer, LTCurve, LTImage

# Characters printed twice, less than a third of their width apart, are how some programs make bold.
_DOUBLE_SHARE = 0.3


@dataclass(frozen=True, slots=True)
class PageContent:
    """One page.

    Attributes:
        chars: characters as pdfplumber's word extraction wants them.
        rules: lines, rectangles and curves drawn on the page.
        image_share: area under images over the page's area, 0 to 1; overlaps are not subtracted.
    """

    chars: list[dict[str, Any]]
    rules: int
    image_share: float


def read_page(page: Any) -> PageContent:
    """Content of a pdfplumber page."""
    height, width = float(page.height), float(page.width)
    left, upper = float(page.mediabox[0]), float(page.mediabox[1])
    chars: list[dict[str, Any]] = []
    rules = 0
    covered = 0.0
    for item in _leaves(page.layout):
        if isinstance(item, LTChar):
            top = height - item.y1 + upper
            fontname = item.fontname
            chars.append(
                {
                    "text": unicodedata.normalize("NFC", item.get_text()),
                    "x0": item.x0 + left,
                    "x1": item.x1 + left,
                    "top": top,
                    "bottom": height - item.y0 + upper,
                    "doctop": top,
                    "width": item.width,
                    "height": item.height,
                    "size": item.size,
                    "fontname": fontname if isinstance(fontname, str) else fontname.decode("latin-1"),
                    "upright": item.upright,
                }
            )
        elif isinstance(item, LTCurve):
            rules += 1
        elif isinstance(item, LTImage):
            across = min(item.x1, width) - max(item.x0, 0.0)
            covered += max(0.0, across) * max(0.0, min(item.y1, height) - max(item.y0, 0.0))
    area = width * height
    share = min(1.0, covered / area) if area > 0 else 0.0
    return PageContent(_without_doubles(chars), rules, share)


def _without_doubles(chars: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Characters without overprints (pdfplumber's dedupe_chars takes 0.6 s a page for the same)."""
    seen: dict[tuple[str, int, int], tuple[float, float]] = {}
    kept: list[dict[str, Any]] = []
    for char in chars:
        text, x, y = char["text"], char["x0"], char["top"]
        near = min(1.0, _DOUBLE_SHARE * char["width"])
        places = [(text, round(x) + dx, round(y) + dy) for dx in (0, -1, 1) for dy in (0, -1, 1)]
        found = (seen[place] for place in places if place in seen)
        if text.isspace() or not any(
            abs(x - other_x) <= near and abs(y - other_y) <= near for other_x, other_y in found
        ):
            kept.append(char)
            seen[places[0]] = (x, y)
    return kept


def _leaves(container: Iterable[Any]) -> Iterator[Any]:
    for item in container:
        if isinstance(item, LTContainer):
            yield from _leaves(item)
        else:
            yield item
