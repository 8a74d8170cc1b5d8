"""Reading one grey page: turned upright, levelled, at a size the engine reads best."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from PIL import Image

from ingest_svc.parsing.ocr.best_of_two import best_of_two
from ingest_svc.parsing.ocr.cell_reading import cells_read_again
from ingest_svc.parsing.ocr.deskew import deskewed
from ingest_svc.parsing.ocr.engine import Line, OcrEngine, confidence
from ingest_svc.parsing.ocr.frames import frames
from ingest_svc.parsing.ocr.pixels import evened, ink
from ingest_svc.parsing.ocr.sizes import body_size
from radref.errors import DeadlineExceeded

# Measured with tesseract 5.3: pages read the right way up lie at 0.85 and more, upside down at 0.3 to 0.5.
_GOOD = 0.75
# Share of a page's time for reading it as it came.
_FIRST_TRY = 0.5
_PASSABLE = 0.5
# Tesseract reads capitals of 20 to 50 pixels best (its user manual: 300 dpi, x-height of 20 or more).
_MIN_SIZE = 26.0
_MAX_SIZE = 75.0
_BEST_SIZE = 44.0
_MAX_SCALE = 4.0
# Measured: pages read whole leave below 0.01 of the ink of their lines, pages with lost words 0.02 and more.
_UNREAD = 0.02
_OTHER_SIZE = 1.8
# An A3 page at 300 dpi has 17 million pixels; a larger working image brings time, not accuracy.
_MAX_WORKING_PIXELS = 20_000_000
_MIN_SIDE = 8
_BORDER = 24


@dataclass(frozen=True, slots=True)
class PageReading:
    """An upright page image and its lines, in pixels of that image."""

    image: Image.Image
    lines: tuple[Line, ...]

    @property
    def score(self) -> float:
        """Letters weighted by confidence; unsure ones count against, text on its side does not count."""
        if _lies(self.lines):
            return -1.0
        return sum(word.letters * (word.confidence - _PASSABLE) for line in self.lines for word in line.words)


def read_page(engine: OcrEngine, image: Image.Image, timeout: float) -> PageReading:
    """Reads a grey image ("L").

    Pages mostly lie as they should, so they are read as they come first. Where that does not read well, the
    engine says how the page lies; where it is not sure, ways are tried until one reads well, and the best is
    taken.

    Raises:
        DeadlineExceeded: PARSE_TIMEOUT, no try that reads passably ended within `timeout` seconds.
        Internal: PARSER_CRASHED, the engine failed.
    """
    deadline = time.monotonic() + timeout
    page = _bordered(evened(_bounded(image)))
    if min(image.size) < _MIN_SIDE or not ink(page).any():
        return PageReading(page, ())
    best: PageReading | None
    try:
        best = _read(engine, page, _FIRST_TRY * timeout)
    except DeadlineExceeded:
        # Engines take long over letters that lie on their side.
        best = None
    if best is None or not _reads(best, _GOOD):
        best = _best_turn(engine, page, best, deadline)
    return _with_cells(engine, _resized(engine, best, deadline), deadline)


def _best_turn(
    engine: OcrEngine, page: Image.Image, upright: PageReading | None, deadline: float
) -> PageReading:
    """The best reading of the page turned; `upright` is the one of the page as it came, None: not in time."""
    best = upright
    try:
        found = engine.orientation(page, deadline - time.monotonic())
        guess = found.clockwise if found is not None else 90
        for turn in (guess, *(turn for turn in (90, 270, 180, 0) if turn != guess)):
            if turn or upright is None:
                tried = _read(engine, _turned(page, turn), deadline - time.monotonic())
            else:
                tried = upright
            if best is None or tried.score > best.score:
                best = tried
            if _reads(tried, _PASSABLE if found is not None and found.sure and turn == guess else _GOOD):
                break
    except DeadlineExceeded:
        # A page read the wrong way up is rubbish that looks like words.
        if best is None or not _reads(best, _PASSABLE):
            raise
    assert best is not None
    return best


def _reads(reading: PageReading, least: float) -> bool:
    """Its words stand upright and are read with a mean confidence of `least` or more."""
    return not _lies(reading.lines) and confidence(reading.lines) >= least


def _read(engine: OcrEngine, image: Image.Image, timeout: float) -> PageReading:
    level = deskewed(image)
    return PageReading(level, engine.read(level, timeout))


def _lies(lines: tuple[Line, ...]) -> bool:
    """Most longer words are taller than wide: engines read such lines, but their boxes lie on their side."""
    long = [word for line in lines for word in line.words if word.letters >= 3]
    return sum(word.bottom - word.top > word.right - word.left for word in long) > len(long) / 2


def _resized(engine: OcrEngine, reading: PageReading, deadline: float) -> PageReading:
    """Reads again at another size where letters are too small or too large, or words were passed over.

    Tesseract leaves out words it cannot make sense of without a trace but their ink; at another size it
    mostly reads them. The reading that holds more, more surely, is kept, and lends words from the other.
    """
    factor = _factor(reading)
    left = deadline - time.monotonic()
    if factor is None or left <= 0:
        return reading
    try:
        scaled = _scaled(reading.image, factor)
        again = PageReading(scaled, engine.read(scaled, left))
    except DeadlineExceeded:
        return reading
    if _worth(again) > _worth(reading):
        return PageReading(scaled, best_of_two(again.lines, reading.lines, factor))
    return PageReading(reading.image, best_of_two(reading.lines, again.lines, 1 / factor))


def _with_cells(engine: OcrEngine, reading: PageReading, deadline: float) -> PageReading:
    grids = frames(ink(reading.image)) if reading.lines else []
    left = deadline - time.monotonic()
    if not grids or left <= 0:
        return reading
    size = body_size(reading.lines)
    try:
        lines = cells_read_again(
            reading.lines, reading.image, grids, lambda stack: engine.read_stack(stack, left), size
        )
    except DeadlineExceeded:
        return reading
    return PageReading(reading.image, lines)


def _factor(reading: PageReading) -> float | None:
    size = body_size(reading.lines)
    if not size:
        return None
    if not _MIN_SIZE <= size <= _MAX_SIZE:
        factor = _BEST_SIZE / size
    elif unread_share(reading) > _UNREAD:
        factor = _OTHER_SIZE if _OTHER_SIZE * size <= _MAX_SIZE else 1 / _OTHER_SIZE
    else:
        return None
    pixels = reading.image.width * reading.image.height
    factor = min(factor, _MAX_SCALE, (_MAX_WORKING_PIXELS / pixels) ** 0.5)
    return None if 0.9 < factor < 1.1 else factor


def _worth(reading: PageReading) -> float:
    return reading.score * (1.0 - unread_share(reading))


def unread_share(reading: PageReading) -> float:
    """Share of the ink in the boxes of the lines that no word covers, 0 to 1; 0 without lines.

    Rules and underlines lie inside lines too, so a small share is no evidence.
    """
    if not reading.lines:
        return 0.0
    marks = ink(reading.image)
    inside = np.zeros_like(marks)
    for line in reading.lines:
        inside[line.top : line.bottom, line.left : line.right] = True
    total = int((marks & inside).sum())
    for line in reading.lines:
        for word in line.words:
            inside[word.top : word.bottom, word.left : word.right] = False
    return float((marks & inside).sum()) / total if total else 0.0


def _turned(image: Image.Image, clockwise: int) -> Image.Image:
    turns = {
        90: Image.Transpose.ROTATE_270,
        180: Image.Transpose.ROTATE_180,
        270: Image.Transpose.ROTATE_90,
    }
    return image.transpose(turns[clockwise]) if clockwise else image


def _bounded(image: Image.Image) -> Image.Image:
    pixels = image.width * image.height
    return _scaled(image, (_MAX_WORKING_PIXELS / pixels) ** 0.5) if pixels > _MAX_WORKING_PIXELS else image


def _bordered(image: Image.Image) -> Image.Image:
    """White around the page: engines lose letters that touch the edge."""
    framed = Image.new("L", (image.width + 2 * _BORDER, image.height + 2 * _BORDER), _edge_shade(image))
    framed.paste(image, (_BORDER, _BORDER))
    return framed


def _edge_shade(image: Image.Image) -> int:
    """The median of the outermost pixels: the page's own ground."""
    width, height = image.size
    edges = [
        image.crop(box)
        for box in (
            (0, 0, width, 1), (0, height - 1, width, height), (0, 0, 1, height), (width - 1, 0, width, height)
        )
    ]  # fmt: skip
    counts = [sum(shades) for shades in zip(*(edge.histogram() for edge in edges), strict=True)]
    half, seen = sum(counts) / 2, 0
    for shade, count in enumerate(counts):
        seen += count
        if seen >= half:
            return shade
    return 255


def _scaled(image: Image.Image, factor: float) -> Image.Image:
    size = (max(1, round(image.width * factor)), max(1, round(image.height * factor)))
    return image.resize(size, Image.Resampling.LANCZOS)
