"""What the PDF parser knows of a page: words, drawn shapes, tables. Points from the page's top left."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from ingest_svc.document import Block

Box = tuple[float, float, float, float]  # x0, top, x1, bottom


@dataclass(slots=True)
class Word:
    """Characters without a space between them.

    Attributes:
        x0, top, x1, bottom: its place, points.
        size: font size, points.
        font: font name without subset prefix.
        bold: the font is a bold one.
        turned: runs in another direction than the page's text; then it is a whole line.
    """

    text: str
    x0: float
    top: float
    x1: float
    bottom: float
    size: float
    font: str
    bold: bool
    turned: bool = False


@dataclass(slots=True)
class PdfPage:
    """One page after reading, turned so that most of its text reads from left to right.

    Attributes:
        words: text that a reader of the page sees.
        rules: thin straight lines and edges of rectangles, for tables.
        shapes: boxes of everything drawn: strokes, fills.
        images: boxes of raster images.
        image_share: area under images over the page's area, 0 to 1.
        hidden: characters left out because nobody sees them.
        recognised: characters of an invisible layer over a scan, that is the output of an OCR program.
        drawn: characters, shapes or images are on the page at all.
        guessed: most of the text is in fonts without a mapping to Unicode and makes no words.
    """

    number: int
    width: float
    height: float
    words: list[Word]
    rules: list[Box] = field(default_factory=list)
    shapes: list[Box] = field(default_factory=list)
    images: list[Box] = field(default_factory=list)
    image_share: float = 0.0
    hidden: int = 0
    recognised: int = 0
    drawn: bool = True
    guessed: bool = False


@dataclass(frozen=True, slots=True)
class PdfLine:
    """One line of one column.

    Attributes:
        size: most common font size, points.
        bold: most characters are bold.
        font: most common font.
        page: page number from 1.
        column: ordinal of the region on the page; lines of other regions do not adjoin.
        cells: pieces with wide gaps between them.
    """

    text: str
    x0: float
    x1: float
    top: float
    bottom: float
    size: float
    bold: bool
    page: int
    column: int = 0
    cells: int = 1
    font: str = ""


@dataclass(frozen=True, slots=True)
class PdfTable:
    """A table on one page, or joined over pages.

    Attributes:
        rows: equally many cells each; the first is the header.
        edges: left edges of the columns, points.
        title: text of a first row that spans all columns; it is a caption in all but name.
        last_page: where it ends; `page` is where it begins.
        end: box of its last part.
    """

    rows: tuple[tuple[str, ...], ...]
    box: Box
    page: int
    edges: tuple[float, ...]
    title: str = ""
    last_page: int = 0
    end: Box = (0.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class PdfFigure:
    """Text inside a drawing or picture: labels of axes, boxes of a flow chart. It interrupts no paragraph."""

    text: str
    box: Box
    page: int


@dataclass(frozen=True, slots=True)
class PdfOcr:
    """A page that was read from its picture."""

    blocks: tuple[Block, ...]
    page: int


Element = PdfLine | PdfTable | PdfFigure | PdfOcr


def union(boxes: Iterable[Box]) -> Box:
    """The smallest box around boxes; there must be one."""
    x0, top, x1, bottom = zip(*boxes, strict=True)
    return min(x0), min(top), max(x1), max(bottom)


def box_of(word: Word) -> Box:
    return word.x0, word.top, word.x1, word.bottom


def inside(word: Word, box: Box) -> bool:
    """The middle of the word lies in the box."""
    return box[0] <= (word.x0 + word.x1) / 2 <= box[2] and box[1] <= (word.top + word.bottom) / 2 <= box[3]
