"""`parse_file`: one file in, a parsed document out."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ingest_svc.document import BlockKind, ParsedDocument, ParseReport, render
from ingest_svc.parsing.csv_tables import parse_csv
from ingest_svc.parsing.docling.options import DoclingOptions
from ingest_svc.parsing.draft import Draft
from ingest_svc.parsing.encoding import DecodedText, decode
from ingest_svc.parsing.file_format import FileFormat
from ingest_svc.parsing.formats import SUPPORTED, check_name, detect_binary, detect_text
from ingest_svc.parsing.html import declared_encoding, parse_html
from ingest_svc.parsing.language import detect_language
from ingest_svc.parsing.limits import ParseLimits
from ingest_svc.parsing.markdown import parse_markdown
from ingest_svc.parsing.ocr.model import OcrPage
from ingest_svc.parsing.office import OFFICE, parse_office
from ingest_svc.parsing.orthography import orthography_score
from ingest_svc.parsing.plain_text import parse_text
from ingest_svc.parsing.readable import unreadable_share
from ingest_svc.parsing.refusals import OCR_ENGINE, refuse
from ingest_svc.parsing.restructured import is_restructured, parse_restructured
from radref.errors import InvalidInput

if TYPE_CHECKING:
    from PIL.Image import Image

# Clean documents of the development corpus score 0.96 and more, misread ones 0.46 and less.
MIN_ORTHOGRAPHY = 0.8


def parse_file(
    data: bytes,
    file_name: str,
    limits: ParseLimits,
    ocr_page: Callable[[Image, int], OcrPage] | None = None,
    docling: DoclingOptions | None = None,
    no_ocr: str = "",
) -> ParsedDocument:
    """Parses a Markdown, reStructuredText, plain text, HTML, CSV, PDF or office file (DOCX, PPTX, XLSX; with
    LibreOffice also RTF, DOC, ODT, PPT, ODP, XLS, XLSB, ODS), and images where an OCR engine is installed.

    The format is told by content; `file_name` (its extension) is only compared with it.

    Args:
        ocr_page: reads a page image, numbered from 1; None = no OCR engine is installed.
        docling: reads what `docling.formats()` names; None = our own parsers read everything.
        no_ocr: where `ocr_page` is None, what is missing for it and how to get it, in sentences; part of the
            message where a scan or an image is refused.

    Raises:
        InvalidInput: EMPTY_FILE, FILE_TOO_LARGE, FORMAT_MISMATCH, UNSUPPORTED_FORMAT, PASSWORD_PROTECTED,
            CORRUPT_FILE, UNDECODABLE_TEXT or NO_TEXT; the message says what the user can do.
        DeadlineExceeded: PARSE_TIMEOUT, when LibreOffice takes too long.
        Internal: PARSER_CRASHED, when LibreOffice dies.
    """
    if not data:
        raise InvalidInput("The file is empty.", reason="EMPTY_FILE")
    if len(data) > limits.max_bytes:
        raise InvalidInput(
            f"The file has {len(data)} bytes, more than the limit of {limits.max_bytes}.",
            reason="FILE_TOO_LARGE",
            metadata={"limit_bytes": str(limits.max_bytes)},
        )
    detected = detect_binary(data)
    decoded: DecodedText | None = None
    if detected is None:
        decoded = _decoded(data, file_name)
        detected = detect_text(decoded.text, file_name)
    check_name(detected, file_name)
    if docling is not None and detected in docling.formats():
        from ingest_svc.parsing.docling.converter import parse_with_docling

        draft = parse_with_docling(data, detected, docling, limits)
    elif detected in OFFICE:
        draft = parse_office(data, detected, limits)
    elif detected is FileFormat.IMAGE and ocr_page is not None:
        from ingest_svc.parsing.ocr.images import parse_image

        draft = parse_image(data, limits, ocr_page)
    elif detected not in SUPPORTED:
        raise _with_advice(refuse(detected), no_ocr)
    elif detected is FileFormat.PDF:
        draft = _parse_pdf(data, limits, ocr_page, no_ocr)
    else:
        assert decoded is not None
        draft = _parse_text_format(decoded.text, detected, limits)
    return _reported(draft, detected, decoded.encoding if decoded else "", limits)


def _parse_pdf(
    data: bytes, limits: ParseLimits, ocr_page: Callable[[Image, int], OcrPage] | None, no_ocr: str
) -> Draft:
    # On first use, like the office parsers.
    from ingest_svc.parsing.pdf import parse_pdf

    try:
        return parse_pdf(data, limits, ocr_page)
    except InvalidInput as exc:
        raise _with_advice(exc, no_ocr) from exc


def _with_advice(refusal: InvalidInput, no_ocr: str) -> InvalidInput:
    """A refusal for want of text also says what the OCR engine lacks: the operator can install it."""
    if refusal.metadata.get("missing") != OCR_ENGINE or not no_ocr:
        return refusal
    return InvalidInput(f"{refusal.message} {no_ocr}", reason=refusal.reason, metadata=refusal.metadata)


def _decoded(data: bytes, file_name: str) -> DecodedText:
    try:
        decoded = decode(data, declared_encoding(data))
    except InvalidInput:
        # Zero bytes or controls: no text at all, so say what the name promised and what came instead.
        if b"\x00" in data[:8192]:
            check_name(FileFormat.BINARY, file_name)
            raise refuse(FileFormat.BINARY) from None
        raise
    if not decoded.text.strip():
        raise InvalidInput("The file holds only white space.", reason="EMPTY_FILE")
    return decoded


def _parse_text_format(text: str, detected: FileFormat, limits: ParseLimits) -> Draft:
    if len(text) > limits.max_characters:
        raise _too_long(limits)
    if detected is FileFormat.HTML:
        return parse_html(text)
    if detected is FileFormat.MARKDOWN:
        return parse_markdown(text)
    if detected is FileFormat.CSV:
        return parse_csv(text)
    if is_restructured(text):
        return parse_restructured(text)
    flat = parse_text(text)
    return Draft(flat.blocks, "plain-text", removed_characters=flat.removed_characters)


def _reported(draft: Draft, detected: FileFormat, encoding: str, limits: ParseLimits) -> ParsedDocument:
    text, _ = render(draft.blocks)
    if not any(char.isalnum() for char in text):
        raise InvalidInput("The file holds no text.", reason="NO_TEXT")
    if len(text) > limits.max_characters:
        raise _too_long(limits)
    kinds = [block.kind for block in draft.blocks]
    language = detect_language(text)
    orthography = orthography_score(text, language)
    warnings = draft.warnings
    if orthography is not None and orthography < MIN_ORTHOGRAPHY:
        warnings += (
            f"Only {orthography:.0%} of the words look like words of the language: "
            "compare with the original.",
        )
    report = ParseReport(
        format=detected.value,
        parser=draft.parser,
        encoding=encoding,
        pages=draft.pages,
        tables=kinds.count(BlockKind.TABLE),
        headings=kinds.count(BlockKind.HEADING),
        image_share=draft.image_share,
        unreadable_share=max(draft.unreadable_share, unreadable_share(text)),
        orthography_score=orthography,
        language=language,
        characters=len(text),
        removed_characters=draft.removed_characters,
        warnings=warnings,
    )
    return ParsedDocument(draft.blocks, draft.title, report)


def _too_long(limits: ParseLimits) -> InvalidInput:
    return InvalidInput(
        f"The document has more than {limits.max_characters} characters. Split it.",
        reason="FILE_TOO_LARGE",
        metadata={"limit_characters": str(limits.max_characters)},
    )
