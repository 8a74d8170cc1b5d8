"""Page images that the OCR tests draw themselves."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageDraw, ImageFont

from ingest_svc.parsing.ocr.choose import choose_reader
from ingest_svc.parsing.ocr.options import OcrOptions
from ingest_svc.parsing.ocr.page_reader import PageReader
from ingest_svc.parsing.ocr.tesseract import find_tesseract

_FONT_FOLDERS = ("/usr/share/fonts/truetype/dejavu", "/usr/share/fonts/dejavu", "/usr/share/fonts/TTF")
_TESSERACT, _WHY = find_tesseract(("rus", "eng"))
needs_tesseract = pytest.mark.skipif(_TESSERACT is None, reason=f"no OCR here: {_WHY}")

ENGLISH = (
    "Every examination room needs a warning light above its door. The lead",
    "apron is checked once a year by the medical physicist, and the result is",
    "written down in the equipment log of the department.",
)
RUSSIAN = (
    "Каждый рентгеновский кабинет имеет световой сигнал над входной дверью.",
    "Защитные фартуки проверяет один раз в год медицинский физик, результат",
    "записывают в журнал оборудования отделения.",
)


def font(size: int, style: str = "") -> Any:
    """A DejaVu Serif face; the test is skipped where the fonts are not installed."""
    name = f"DejaVuSerif{'-' + style if style else ''}.ttf"
    for folder in _FONT_FOLDERS:
        if (Path(folder) / name).is_file():
            return ImageFont.truetype(str(Path(folder) / name), size)
    pytest.skip(f"no font {name} on this machine")


def page(
    texts: Sequence[tuple[int, int, int, str, str]], size: tuple[int, int] = (2000, 1200)
) -> Image.Image:
    """A white page with (x, y, font size, style, text) on it."""
    image = Image.new("L", size, 255)
    draw = ImageDraw.Draw(image)
    for x, y, points, style, text in texts:
        draw.text((x, y), text, font=font(points, style), fill=0)
    return image


def prose(lines: Sequence[str], size: int = 42) -> Image.Image:
    """One paragraph near the top of a page."""
    return page([(100, 120 + at * round(1.5 * size), size, "", line) for at, line in enumerate(lines)])


def png(image: Image.Image, **options: Any) -> bytes:
    return saved(image, "PNG", **options)


def saved(image: Image.Image, kind: str, **options: Any) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def reader(options: OcrOptions | None = None) -> PageReader:
    # Machines that run tests may be busy; limits of time have tests of their own.
    chosen = choose_reader(options or OcrOptions(page_timeout_seconds=1800))
    assert chosen.reader is not None, chosen.reason
    return chosen.reader
