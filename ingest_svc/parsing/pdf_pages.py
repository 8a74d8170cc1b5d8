"""Pages of a PDF: each read from its text layer, or from its picture where the layer cannot be used."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from PIL import Image

from ingest_svc.parsing.ocr.model import OcrPage
from ingest_svc.parsing.pdf_model import PdfPage, inside
from ingest_svc.parsing.pdf_read import read_page
from ingest_svc.parsing.pdf_render import OCR_DPI, PdfRenderer
from ingest_svc.parsing.readable import unreadable_share

# A page of prose has 1,500-4,000 characters; a scan has none but perhaps a stamp or a page number.
_MIN_CHARACTERS = 20
_STAMP_CHARACTERS = 150
_SCAN_SHARE = 0.6
# A picture that covers so much of a page with hardly any text but header and footer may be a page of text.
_PICTURE_SHARE = 0.25
_MARGIN_SHARE = 0.1
# A picture under so many words is a background.
_BACKGROUND_WORDS = 10
# With more than this share of unmapped glyphs the text layer is useless.
_MAX_UNREADABLE = 0.3
# A page of one colour is empty: steps of grey of 255.
_MIN_INK = 16
_INK_DPI = 36


@dataclass(slots=True)
class PagesRead:
    """All pages of a document and what was met on the way.

    Attributes:
        recognised: pages that were read from their picture, by number.
        unread: pages with something on them that could not be read.
        pictures: pages with text beside a large picture; text inside it is not read.
        layers: pages whose text is the invisible layer of another OCR program.
        unreadable_pages: pages whose text layer is made of glyphs without meaning.
        hidden: characters left out because a reader cannot see them.
        unchecked: visibility was not checked, the pages could not be drawn.
        image_share, unreadable_share: of the document, 0 to 1.
    """

    pages: list[PdfPage]
    recognised: dict[int, OcrPage] = field(default_factory=dict)
    unread: tuple[int, ...] = ()
    pictures: tuple[int, ...] = ()
    layers: tuple[int, ...] = ()
    unreadable_pages: tuple[int, ...] = ()
    hidden: int = 0
    unchecked: bool = False
    image_share: float = 0.0
    unreadable_share: float = 0.0

    @property
    def has_text(self) -> bool:
        """Any page has words."""
        return any(page.words for page in self.pages) or any(page.blocks for page in self.recognised.values())


def read_pages(
    pdf: Any, renderer: PdfRenderer, ocr_page: Callable[[Image.Image, int], OcrPage] | None
) -> PagesRead:
    """Reads the pages one by one; what `ocr_page` raises passes through."""
    read = PagesRead([], unchecked=not renderer.available)
    characters = unreadable = 0.0
    for pdf_page in pdf.pages:
        page = read_page(pdf_page, renderer)
        # pdfplumber keeps every object of every page otherwise: gigabytes on long documents.
        pdf_page.close()
        read.pages.append(page)
        text = " ".join(word.text for word in page.words)
        share = 1.0 if page.guessed else unreadable_share(text)
        is_unreadable = bool(text) and share > _MAX_UNREADABLE
        if is_unreadable:
            read.unreadable_pages += (page.number,)
        readable = 0 if is_unreadable else len(text)
        if page.drawn and (readable < _MIN_CHARACTERS or _is_scan(page, readable)):
            _read_picture(page, readable, renderer, ocr_page, read)
        if page.number not in read.recognised:
            if page.number not in read.unread and _has_picture(page):
                read.pictures += (page.number,)
            if is_unreadable:
                page.words = []
            characters += len(text)
            unreadable += share * len(text)
            if page.recognised and page.words:
                read.layers += (page.number,)
        read.hidden += page.hidden
    read.image_share = min(1.0, sum(page.image_share for page in read.pages) / len(read.pages))
    read.unreadable_share = unreadable / characters if characters else 0.0
    return read


def _is_scan(page: PdfPage, readable: int) -> bool:
    """The page is a picture with a stamp, or a large picture between header and footer."""
    if page.recognised:
        return False
    if page.image_share >= _SCAN_SHARE and readable < _STAMP_CHARACTERS:
        return True
    margin = _MARGIN_SHARE * page.height
    inner = sum(
        len(word.text) for word in page.words if margin < (word.top + word.bottom) / 2 < page.height - margin
    )
    return page.image_share >= _PICTURE_SHARE and min(inner, readable) < _MIN_CHARACTERS


def _has_picture(page: PdfPage) -> bool:
    """A large picture stands on the page, with no text over it."""
    area = page.width * page.height
    return any(
        (box[2] - box[0]) * (box[3] - box[1]) >= _PICTURE_SHARE * area
        and sum(inside(word, box) for word in page.words) < _BACKGROUND_WORDS
        for box in page.images
    )


def _read_picture(
    page: PdfPage,
    readable: int,
    renderer: PdfRenderer,
    ocr_page: Callable[[Image.Image, int], OcrPage] | None,
    read: PagesRead,
) -> None:
    """Reads a page from its picture when something is drawn on it; else a page keeps the text it has."""
    if not _has_ink(page, renderer):
        return
    picture = renderer.picture(page.number, OCR_DPI) if ocr_page is not None else None
    if picture is None or ocr_page is None:
        if not readable or page.image_share >= _PICTURE_SHARE:
            read.unread += (page.number,)
        return
    found = ocr_page(picture, page.number)
    if found.words * 4 < readable:
        # The picture gave less than the few characters of the text layer: a page with a title only.
        return
    pages = (page.number, page.number)
    read.recognised[page.number] = replace(
        found, blocks=tuple(replace(block, pages=pages) for block in found.blocks)
    )
    page.words = []


def _has_ink(page: PdfPage, renderer: PdfRenderer) -> bool:
    small = renderer.picture(page.number, _INK_DPI, grey=True)
    if small is None:
        return True
    low, high = small.getextrema()
    assert isinstance(low, int | float)
    assert isinstance(high, int | float)
    return high - low >= _MIN_INK
