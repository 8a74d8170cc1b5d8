"""PDFs that the parser tests draw themselves."""

from __future__ import annotations

import io
import itertools
from collections.abc import Callable, Sequence

from PIL import Image, ImageDraw
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas

WIDTH, HEIGHT = 595.0, 842.0
SENTENCE = (
    "the dose of the staff is measured with care in every room of the department and kept on record by a "
    "person who was named for this task before work in the controlled area began"
).split()


def draw(*pages: Callable[[Canvas], None]) -> bytes:
    """A PDF of A4 pages; each function draws one."""
    buffer = io.BytesIO()
    canvas = Canvas(buffer, pagesize=(WIDTH, HEIGHT), invariant=1)
    for page in pages:
        page(canvas)
        canvas.showPage()
    canvas.save()
    return buffer.getvalue()


def text(canvas: Canvas, x: float, top: float, value: str, size: float = 10, font: str = "Helvetica") -> None:
    """A line whose base line lies `top` points below the page's top."""
    canvas.setFont(font, size)
    canvas.drawString(x, HEIGHT - top, value)


def prose(
    canvas: Canvas, x: float, top: float, lines: int, width: float, name: str = "", seed: int = 0
) -> float:
    """Running text: lines filled to `width`, beginning with `name`; returns the top of the next line."""
    words = itertools.cycle(SENTENCE[seed % len(SENTENCE) :] + SENTENCE[: seed % len(SENTENCE)])
    pending = name.split() if name else ["It", "says", "that"]
    for at in range(lines):
        line: list[str] = []
        while canvas.stringWidth(" ".join([*line, (pending or ["department"])[0]]), "Helvetica", 10) < width:
            line.append(pending.pop(0) if pending else next(words))
        value = " ".join(line)
        text(canvas, x, top + 13 * at, f"{value}." if at == lines - 1 else value)
    return top + 13 * lines


def cells(
    canvas: Canvas, lefts: Sequence[float], top: float, rows: Sequence[Sequence[str]], step: float = 18
) -> float:
    """Rows of a table without rules; returns the top of the next row."""
    for at, row in enumerate(rows):
        for x, value in zip(lefts, row, strict=True):
            text(canvas, x, top + step * at, value)
    return top + step * len(rows)


def ruled(canvas: Canvas, edges: Sequence[float], top: float, rows: int, step: float = 18) -> None:
    """Rules around rows whose base lines begin at `top`."""
    upper = HEIGHT - top + 12
    for at in range(rows + 1):
        canvas.line(edges[0], upper - step * at, edges[-1], upper - step * at)
    for x in edges:
        canvas.line(x, upper, x, upper - step * rows)


def scan(canvas: Canvas, value: str = "scanned words") -> None:
    """A picture of text over the whole page."""
    image = Image.new("L", (595, 842), 255)
    ImageDraw.Draw(image).text((72, 100), value, fill=0)
    canvas.drawImage(ImageReader(image), 0, 0, WIDTH, HEIGHT)


def unseen(canvas: Canvas, x: float, top: float, value: str) -> None:
    """Text in render mode 3."""
    item = canvas.beginText(x, HEIGHT - top)
    item.setFont("Helvetica", 10)
    item.setTextRenderMode(3)
    item.textOut(value)
    canvas.drawText(item)
