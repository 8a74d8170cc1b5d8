"""Text PDF to blocks, by pdfplumber."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import pdfplumber
from pdfminer.pdfdocument import PDFPasswordIncorrect
from pdfplumber.utils.exceptions import PdfminerException

from ingest_svc.cleaning.hyphens import SOFT_HYPHEN, vocabulary
from ingest_svc.cleaning.spaces import tidy
from ingest_svc.document import BlockKind
from ingest_svc.parsing.draft import Draft
from ingest_svc.parsing.limits import ParseLimits
from ingest_svc.parsing.pdf_blocks import pdf_blocks
from ingest_svc.parsing.pdf_furniture import drop_furniture
from ingest_svc.parsing.pdf_lines import PdfLine, page_lines
from ingest_svc.parsing.pdf_page import read_page
from ingest_svc.parsing.pdf_tables import RuledTable, find_tables, placed_tables
from ingest_svc.parsing.readable import unreadable_share
from ingest_svc.parsing.refusals import no_text
from radref.errors import InvalidInput

# A page of prose has 1,500-4,000 characters; a scan has none but perhaps a stamp.
_MIN_CHARACTERS_A_PAGE = 20
# With more than this share of unmapped glyphs the text layer is useless.
_MAX_UNREADABLE = 0.3
_WARN_UNREADABLE = 0.02
# DESIGN section 5: above 70 % images the reviewer must look.
_WARN_IMAGES = 0.7


def parse_pdf(data: bytes, limits: ParseLimits) -> Draft:
    """Blocks of a PDF with a text layer.

    Raises:
        InvalidInput: PASSWORD_PROTECTED, CORRUPT_FILE, FILE_TOO_LARGE (pages) or NO_TEXT (scan).
    """
    try:
        with pdfplumber.open(io.BytesIO(data), unicode_norm="NFC") as pdf:
            return _read(pdf, limits)
    except InvalidInput:
        raise
    except PdfminerException as exc:
        raise _refusal(exc) from exc
    except Exception as exc:
        raise _corrupt() from exc


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


def _read(pdf: Any, limits: ParseLimits) -> Draft:
    count = len(pdf.pages)
    if count == 0:
        raise _corrupt()
    if count > limits.max_pages:
        raise InvalidInput(
            f"The PDF has {count} pages, more than the limit of {limits.max_pages}. Split it.",
            reason="FILE_TOO_LARGE",
            metadata={"limit_pages": str(limits.max_pages)},
        )
    pages: list[list[PdfLine]] = []
    tables: list[RuledTable] = []
    heights: list[float] = []
    images = 0.0
    empty = 0
    unreadable = 0.0
    characters = 0
    for number, page in enumerate(pdf.pages, start=1):
        content = read_page(page)
        found = find_tables(page, content, number)
        boxes = [ruled.box for ruled in found]
        lines = [_cleaned(line) for line in page_lines(content.chars, boxes, number)]
        lines = [line for line in lines if line.text]
        images += content.image_share
        text = " ".join(line.text for line in lines)
        text += " ".join(cell for ruled in found for row in ruled.rows for cell in row)
        empty += len(text) < _MIN_CHARACTERS_A_PAGE
        characters += len(text)
        unreadable += unreadable_share(text) * len(text)
        pages.append(lines)
        tables.extend(found)
        heights.append(float(page.height))
        # pdfplumber keeps every object of every page otherwise: gigabytes on long documents.
        page.close()
    if characters < _MIN_CHARACTERS_A_PAGE or characters / count < _MIN_CHARACTERS_A_PAGE:
        raise no_text("The PDF has pages")
    share = unreadable / characters
    if share > _MAX_UNREADABLE:
        raise no_text("The PDF has unreadable fonts and is")
    kept, removed = drop_furniture(pages, heights)
    flat = [line for lines in kept for line in lines]
    words = vocabulary(line.text for line in flat)
    blocks = tuple(pdf_blocks(flat, placed_tables(tables, heights), words))
    named = str(pdf.metadata.get("Title") or "") if pdf.metadata else ""
    first = next((block for block in blocks if block.kind is BlockKind.HEADING), None)
    title = first.text.lstrip("# ") if first is not None and first.level == 1 else tidy(named)
    return Draft(
        blocks,
        "pdfplumber",
        title=title,
        pages=count,
        image_share=min(1.0, images / count),
        unreadable_share=share,
        removed_characters=removed,
        warnings=_warnings(count, empty, images / count, share),
    )


def _cleaned(line: PdfLine) -> PdfLine:
    # A soft hyphen at the line end is still needed: it says that the word goes on.
    end = SOFT_HYPHEN if line.text.endswith(SOFT_HYPHEN) else ""
    text = tidy(line.text.replace(SOFT_HYPHEN, "").replace("\x00", "")) + end
    return replace(line, text=text)


def _warnings(count: int, empty: int, images: float, unreadable: float) -> tuple[str, ...]:
    warnings: list[str] = []
    if empty:
        warnings.append(f"{empty} of {count} pages hold no text; scanned pages are not read.")
    if images > _WARN_IMAGES:
        warnings.append(f"{images:.0%} of the page area is images.")
    if unreadable > _WARN_UNREADABLE:
        warnings.append(f"{unreadable:.1%} of the characters are unreadable.")
    return tuple(warnings)
