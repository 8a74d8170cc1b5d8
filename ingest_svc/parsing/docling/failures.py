"""Docling's failures as radref's errors; its own messages may quote the file and are never passed on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pypdfium2
from pypdfium2 import raw

from ingest_svc.parsing.file_format import FileFormat
from ingest_svc.parsing.limits import ParseLimits
from radref.errors import DeadlineExceeded, Internal, InvalidInput, RadrefError

# Docling's FailureCategory values.
_TIMEOUT = "timeout"
_INFERENCE = "inference_failure"


def check_pdf(data: bytes, limits: ParseLimits) -> None:
    """Opens the PDF once before any model sees it: Docling does not tell a password from damage.

    Raises:
        InvalidInput: PASSWORD_PROTECTED, CORRUPT_FILE, or FILE_TOO_LARGE for too many pages.
    """
    try:
        document = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as exc:
        if exc.err_code in (raw.FPDF_ERR_PASSWORD, raw.FPDF_ERR_SECURITY):
            raise InvalidInput(
                "The PDF asks for a password. Remove the protection and send it again.",
                reason="PASSWORD_PROTECTED",
            ) from None
        raise _corrupt(FileFormat.PDF) from None
    try:
        pages = len(document)
    finally:
        document.close()
    check_pages(pages, limits)


def check_pages(pages: int, limits: ParseLimits) -> None:
    """Raises InvalidInput FILE_TOO_LARGE for more pages or slides than the limit."""
    if pages > limits.max_pages:
        raise InvalidInput(
            f"The document has {pages} pages, more than the limit of {limits.max_pages}. Split it.",
            reason="FILE_TOO_LARGE",
            metadata={"limit_pages": str(limits.max_pages)},
        )


def failure(exc: Exception, file_format: FileFormat) -> Exception:
    """What to raise for an exception that came out of Docling.

    MemoryError stays one, the worker answers it; radref's own errors stay as well. Docling raises whatever
    its backends do (KeyError, struct.error, RecursionError, pydantic's), so the rest is a damaged file.
    """
    for cause in _causes(exc):
        if isinstance(cause, MemoryError | RadrefError):
            return cause
        if isinstance(cause, ImportError | FileNotFoundError):
            return Internal("Docling is not installed completely.", reason="PARSER_CRASHED")
    return _corrupt(file_format)


def check_complete(result: Any, file_format: FileFormat, timeout_seconds: float) -> None:
    """A document with pages missing is refused, not taken as it is.

    Args:
        result: docling's ConversionResult.
        file_format: for the message.
        timeout_seconds: for the message.

    Raises:
        DeadlineExceeded: PARSE_TIMEOUT.
        Internal: PARSER_CRASHED, a model failed.
        InvalidInput: CORRUPT_FILE; the message names the pages.
    """
    if not result.errors and result.status.value == "success":
        return
    categories = {error.category.value for error in result.errors}
    if _TIMEOUT in categories:
        raise DeadlineExceeded(
            f"Parsing took longer than {timeout_seconds:g} s and was stopped. "
            "Split the document or save it in a simpler form.",
            reason="PARSE_TIMEOUT",
        )
    pages = sorted({error.page_no for error in result.errors if error.page_no is not None})
    if _INFERENCE in categories:
        raise Internal("A model of the parser failed on this file. Try again later.", reason="PARSER_CRASHED")
    raise _corrupt(file_format, pages)


def _corrupt(file_format: FileFormat, pages: list[int] | None = None) -> InvalidInput:
    shown = ", ".join(map(str, (pages or [])[:10])) + (", …" if pages and len(pages) > 10 else "")
    where = f" (pages {shown})" if pages else ""
    return InvalidInput(
        f"The .{file_format.value} file is damaged{where}. Open it, save it again and resend it.",
        reason="CORRUPT_FILE",
    )


def _causes(exc: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while exc is not None and id(exc) not in seen:
        seen.add(id(exc))
        yield exc
        exc = exc.__cause__ or exc.__context__
