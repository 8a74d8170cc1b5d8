"""PDF to blocks without models: text by pdfplumber, pages without a usable text layer by an OCR engine."""

from __future__ import annotations

import io
from collections.abc import Callable

import pdfplumber
from pdfminer.pdfdocument import PDFPasswordIncorrect
from pdfplumber.utils.exceptions import PdfminerException
from PIL import Image

from ingest_svc.cleaning.hyphens import vocabulary
from ingest_svc.cleaning.spaces import tidy
from ingest_svc.document import BlockKind
from ingest_svc.parsing.draft import Draft
from ingest_svc.parsing.limits import ParseLimits
from ingest_svc.parsing.ocr.model import OcrPage
from ingest_svc.parsing.ocr.warnings import ocr_warnings
from ingest_svc.parsing.pdf_blocks import pdf_blocks
from ingest_svc.parsing.pdf_furniture import drop_furniture
from ingest_svc.parsing.pdf_grid import find_grids
from ingest_svc.parsing.pdf_lines import page_elements
from ingest_svc.parsing.pdf_model import Element, PdfOcr
from ingest_svc.parsing.pdf_pages import PagesRead, read_pages
from ingest_svc.parsing.pdf_render import PdfRenderer
from ingest_svc.parsing.pdf_table_joins import joined_tables
from ingest_svc.parsing.refusals import no_text, nothing_legible
from radref.errors import InvalidInput, RadrefError

OcrReader = Callable[[Image.Image, int], OcrPage]

_WARN_UNREADABLE = 0.02
# DESIGN section 5: above 70 % images the reviewer must look.
_WARN_IMAGES = 0.7


def parse_pdf(data: bytes, limits: ParseLimits, ocr_page: OcrReader | None = None) -> Draft:
    """Blocks of a PDF.

    Args:
        data: the file.
        limits: pages above its limit are refused.
        ocr_page: reads the picture (RGB, 300 dpi) of a page without usable text layer; its second argument
            is the page number from 1. None: no OCR engine is installed.

    Raises:
        InvalidInput: PASSWORD_PROTECTED, CORRUPT_FILE, FILE_TOO_LARGE (pages), or NO_TEXT when no page has
            text.
        RadrefError: what `ocr_page` raises.
    """
    try:
        with pdfplumber.open(io.BytesIO(data)) as pdf, PdfRenderer(data) as renderer:
            _check_pages(len(pdf.pages), limits)
            read = read_pages(pdf, renderer, ocr_page)
            named = tidy(str(pdf.metadata.get("Title") or "")) if pdf.metadata else ""
    except (RadrefError, MemoryError):
        raise
    except PdfminerException as exc:
        raise _refusal(exc) from exc
    except Exception as exc:
        # What pdfminer raises on broken files has no common base: KeyError, struct.error, RecursionError, ...
        raise _corrupt() from exc
    return _structured(read, named)


def _refusal(exc: PdfminerException) -> InvalidInput:
    cause = exc.args[0] if exc.args else None
    if isinstance(cause, PDFPasswordIncorrect) or "Password" in type(cause).__name__:
        return InvalidInput(
            "The PDF asks for a password. Remove the protection and send it again.",
            reason="PASSWORD_PROTECTED",
        )
    if "Encryption" in type(cause).__name__:
        return InvalidInput(
            "The PDF is encrypted in a way that cannot be read. Remove the protection and send it again.",
            reason="PASSWORD_PROTECTED",
        )
    return _corrupt()


def _corrupt() -> InvalidInput:
    return InvalidInput(
        "The PDF is damaged and cannot be read. Open it in a PDF program, save it again and resend it.",
        reason="CORRUPT_FILE",
    )


def _check_pages(count: int, limits: ParseLimits) -> None:
    if count == 0:
        raise _corrupt()
    if count > limits.max_pages:
        raise InvalidInput(
            f"The PDF has {count} pages, more than the limit of {limits.max_pages}. Split it.",
            reason="FILE_TOO_LARGE",
            metadata={"limit_pages": str(limits.max_pages)},
        )


def _structured(read: PagesRead, named: str) -> Draft:
    """Blocks of pages that were read; `named` is the title in the file's properties."""
    if not read.has_text:
        if not read.unread:
            raise nothing_legible("the PDF's pages")
        raise no_text("The PDF has unreadable fonts and is" if read.unreadable_pages else "The PDF has pages")
    grids = [find_grids(page.rules) for page in read.pages]
    removed = drop_furniture(read.pages, grids)
    words = vocabulary(word.text for page in read.pages for word in page.words)
    elements: list[Element] = []
    for page, found in zip(read.pages, grids, strict=True):
        if page.number in read.recognised:
            elements.append(PdfOcr(read.recognised[page.number].blocks, page.number))
        else:
            elements.extend(page_elements(page, found, words))
    joined = joined_tables(elements, [page.height for page in read.pages])
    blocks = tuple(pdf_blocks(joined))
    first = next((block for block in blocks if block.kind is BlockKind.HEADING), None)
    title = first.text.lstrip("# ") if first is not None and first.level == 1 else named
    engines = dict.fromkeys(page.engine for page in read.recognised.values() if page.engine)
    return Draft(
        blocks,
        "+".join(["pdfplumber", *engines]),
        title=title,
        pages=len(read.pages),
        image_share=read.image_share,
        unreadable_share=read.unreadable_share,
        removed_characters=removed + read.hidden,
        warnings=_warnings(read),
    )


def _warnings(read: PagesRead) -> tuple[str, ...]:
    warnings: list[str] = []
    if read.unread:
        warnings.append(
            f"{_pages(read.unread)} without a usable text layer (scanned): not read, because no OCR engine "
            "is part of this installation."
        )
    if read.pictures:
        warnings.append(f"{_pages(read.pictures)}: text inside large pictures, if any, was not read.")
    if read.recognised:
        engines = sorted({page.engine for page in read.recognised.values() if page.engine})
        by = f" by {', '.join(engines)}" if engines else ""
        warnings.append(f"{_pages(tuple(read.recognised))} read by OCR{by}.")
        warnings.extend(ocr_warnings(read.recognised))
    if read.layers:
        warnings.append(f"{_pages(read.layers)} scanned, with the text layer of another OCR program.")
    if read.hidden:
        warnings.append(f"{read.hidden} characters that a reader cannot see were left out.")
    if read.unchecked:
        warnings.append("Whether all text can be seen was not checked: the pages could not be drawn.")
    if read.image_share > _WARN_IMAGES:
        warnings.append(f"{read.image_share:.0%} of the page area is images.")
    if read.unreadable_share > _WARN_UNREADABLE:
        warnings.append(f"{read.unreadable_share:.1%} of the characters are unreadable.")
    return tuple(warnings)


def _pages(numbers: tuple[int, ...]) -> str:
    """ "Pages 1-3, 7", the first twenty ranges."""
    ranges: list[tuple[int, int]] = []
    for number in sorted(numbers):
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1] = (ranges[-1][0], number)
        else:
            ranges.append((number, number))
    named = [f"{first}" if first == last else f"{first}-{last}" for first, last in ranges]
    more = f" and {len(named) - 20} more" if len(named) > 20 else ""
    return f"{'Page' if len(numbers) == 1 else 'Pages'} {', '.join(named[:20])}{more}"
