"""What of a page's text a reader can see.

A text that is white on white, transparent, covered, cut off or set in an invisible mode is a trap on a
born-digital page: people never saw it. Over a scan an invisible layer is the output of an OCR program.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence

from PIL import Image

from ingest_svc.parsing.pdf_model import Box, Word, box_of, inside

# Steps of grey (of 255) between the darkest and the lightest pixel of a word that can be seen. Antialiased
# text of 4 points in light grey (0.8) on white gives 20 at the dpi used here; a plain background gives 0-2.
_MIN_CONTRAST = 8
VISIBILITY_DPI = 108.0
# PDFium brings stand-ins with Latin letters for the standard fonts.
_BUILT_IN = re.compile(r"helvetica|arial|times|courier", re.I)
# A scan covers the page; letterheads and logos cover less.
_MIN_SCAN_SHARE = 0.4


def seen(
    words: Sequence[Word], picture: Image.Image, to_pixels: Callable[[Box], Box], loose: Collection[str]
) -> tuple[list[Word], int]:
    """Words that leave a trace on the drawn page, and the number of characters of the others.

    Args:
        words: of one page.
        picture: the page, grey.
        to_pixels: from the place of a word to the picture.
        loose: fonts that the file does not bring along. Where none of their words leaves a trace, the
            renderer may lack the font, so they count as seen.
    """
    traces = [_leaves_trace(word, picture, to_pixels) for word in words]
    drawn = {_face(word) for word, trace in zip(words, traces, strict=True) if trace}
    kept: list[Word] = []
    hidden = 0
    for word, trace in zip(words, traces, strict=True):
        x0, top, x1, bottom = to_pixels(box_of(word))
        outside = x1 <= 0 or bottom <= 0 or x0 >= picture.width or top >= picture.height
        built_in = word.text.isascii() and _BUILT_IN.match(word.font) is not None
        doubtful = word.font in loose and not built_in and _face(word) not in drawn
        if trace or (doubtful and not outside):
            kept.append(word)
        else:
            hidden += len(word.text)
    return kept, hidden


def _face(word: Word) -> tuple[str, bool]:
    """Renderers' own fonts often lack all but the Latin letters."""
    return word.font, word.text.isascii()


def _leaves_trace(word: Word, picture: Image.Image, to_pixels: Callable[[Box], Box]) -> bool:
    x0, y0, x1, y1 = to_pixels(box_of(word))
    left, upper = max(0, int(x0)), max(0, int(y0))
    right, lower = min(picture.width, int(x1) + 1), min(picture.height, int(y1) + 1)
    if right <= left or lower <= upper:
        return False
    low, high = picture.crop((left, upper, right, lower)).getextrema()
    assert isinstance(low, int | float)
    assert isinstance(high, int | float)
    return high - low >= _MIN_CONTRAST


def recognised(
    unseen: Sequence[Word], visible: Sequence[Word], images: Sequence[Box], page_area: float
) -> list[Word]:
    """Words of an invisible layer that are the text of a scan: on a large image, and on no visible text."""
    scans = [
        box for box in images if (box[2] - box[0]) * (box[3] - box[1]) >= _MIN_SCAN_SHARE * page_area
    ] or _strips(images, page_area)
    if not scans:
        return []
    return [
        word
        for word in unseen
        if any(inside(word, scan) for scan in scans) and not any(_same(word, other) for other in visible)
    ]


def _strips(images: Sequence[Box], page_area: float) -> list[Box]:
    """Some scanners cut the page into strips: together they cover it."""
    total = sum((box[2] - box[0]) * (box[3] - box[1]) for box in images)
    return list(images) if total >= _MIN_SCAN_SHARE * page_area else []


def _same(word: Word, other: Word) -> bool:
    across = min(word.x1, other.x1) - max(word.x0, other.x0)
    down = min(word.bottom, other.bottom) - max(word.top, other.top)
    return across > 0.3 * (word.x1 - word.x0) and down > 0.3 * (word.bottom - word.top)
