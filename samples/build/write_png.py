"""Writes a sample as the picture of a scanned page: text drawn slightly askew with specks, no text layer."""

from __future__ import annotations

import io
import random
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from samples.build.source_blocks import Heading, ItemList, Paragraph, SourceBlock, Table

# A5 at 150 dots per inch.
PAGE = (874, 1240)
MARGIN = 60
BODY_SIZE = 17
HEADING_SIZES = {1: 27, 2: 22, 3: 19}
TILT_DEGREES = 0.6
# Share of pixels that become dark or light specks.
SPECKS = 0.0006
# Few grey levels keep the file small and look like an office scanner.
GREY_LEVELS = 8


def write_png(blocks: tuple[SourceBlock, ...], fonts: Path) -> bytes:
    """Bytes of the PNG; equal input, font files and Pillow give equal bytes.

    Args:
        fonts: folder with DejaVuSans.ttf and DejaVuSans-Bold.ttf.

    Raises:
        ValueError: the text does not fit on one page.
    """
    page = Image.new("L", PAGE, 248)
    draw = ImageDraw.Draw(page)
    body = ImageFont.truetype(fonts / "DejaVuSans.ttf", BODY_SIZE)
    y = MARGIN
    for block in blocks:
        match block:
            case Heading(level, text):
                font = ImageFont.truetype(fonts / "DejaVuSans-Bold.ttf", HEADING_SIZES[level])
                y = _text(draw, text, font, MARGIN, y + 6)
            case Paragraph(text):
                y = _text(draw, text, body, MARGIN, y)
            case ItemList(ordered, items):
                for number, item in enumerate(items, start=1):
                    draw.text((MARGIN, y), f"{number}." if ordered else "–", font=body, fill=30)
                    y = _text(draw, item, body, MARGIN + 28, y) - 4
                y += 4
            case Table():
                y = _table(draw, block, body, y)
    if y > PAGE[1] - MARGIN:
        raise ValueError(f"the page is {y - PAGE[1] + MARGIN} pixels too long")
    return _encode(_scanned(page))


def _text(draw: ImageDraw.ImageDraw, text: str, font: ImageFont.FreeTypeFont, x: int, y: int) -> int:
    """Draws wrapped text and returns the y of the next block."""
    line_height = round(font.size * 1.35)
    line = ""
    for word in text.split():
        longer = f"{line} {word}".strip()
        if line and draw.textlength(longer, font=font) > PAGE[0] - MARGIN - x:
            draw.text((x, y), line, font=font, fill=30)
            y += line_height
            line = word
        else:
            line = longer
    draw.text((x, y), line, font=font, fill=30)
    return y + line_height + 7


def _table(draw: ImageDraw.ImageDraw, block: Table, font: ImageFont.FreeTypeFont, y: int) -> int:
    width, height = 250, round(font.size * 1.8)
    for cell in block.cells:
        left, top = MARGIN + cell.column * width, y + cell.row * height
        draw.rectangle((left, top, left + cell.width * width, top + cell.height * height), outline=60)
        draw.text((left + 8, top + 6), cell.text, font=font, fill=30)
    return y + block.rows * height + 12


def _scanned(page: Image.Image) -> Image.Image:
    tilted = page.rotate(TILT_DEGREES, resample=Image.Resampling.BICUBIC, fillcolor=248)
    noise = random.Random(20230819)
    for _ in range(round(PAGE[0] * PAGE[1] * SPECKS)):
        at = (noise.randrange(PAGE[0]), noise.randrange(PAGE[1]))
        tilted.putpixel(at, noise.choice((70, 120, 170)))
    return tilted


def _encode(page: Image.Image) -> bytes:
    step = 256 // GREY_LEVELS
    reduced = page.point(lambda value: min(255, value // step * step + step - 1))
    buffer = io.BytesIO()
    reduced.convert("P", palette=Image.Palette.ADAPTIVE, colors=GREY_LEVELS).save(
        buffer, "PNG", optimize=True, dpi=(150, 150)
    )
    return buffer.getvalue()
