"""Office documents to blocks: old formats converted first, then each by its own parser."""

from __future__ import annotations

from dataclasses import replace

from ingest_svc.document import render
from ingest_svc.parsing.draft import Draft
from ingest_svc.parsing.file_format import FileFormat
from ingest_svc.parsing.libreoffice import TARGETS, check_readable, convert, program
from ingest_svc.parsing.limits import ParseLimits
from ingest_svc.parsing.refusals import refuse
from radref.errors import InvalidInput

OFFICE = frozenset({FileFormat.DOCX, FileFormat.PPTX, FileFormat.XLSX, *TARGETS})


def parse_office(data: bytes, detected: FileFormat, limits: ParseLimits) -> Draft:
    """Blocks of an office document.

    Args:
        data: the file.
        detected: one of `OFFICE`.
        limits: limits of the parse.

    Raises:
        InvalidInput: UNSUPPORTED_FORMAT for a format that needs LibreOffice where that is not installed;
            CORRUPT_FILE, also for a conversion that came out empty or garbled; FILE_TOO_LARGE;
            PASSWORD_PROTECTED.
        DeadlineExceeded: PARSE_TIMEOUT, the conversion took too long.
        Internal: PARSER_CRASHED, LibreOffice died.
    """
    target = TARGETS.get(detected)
    if target is None:
        return _parse(data, detected, limits)
    if program() is None:
        raise refuse(detected)
    draft = _parse(convert(data, detected, limits), target, limits)
    text, _ = render(draft.blocks)
    if not any(char.isalnum() for char in text):
        raise InvalidInput(
            f"The .{detected.value} file came out empty when it was converted. "
            f"Open it, save it as .{target.value} and send that.",
            reason="CORRUPT_FILE",
        )
    check_readable(text)
    return replace(draft, parser=f"libreoffice+{draft.parser}")


def _parse(data: bytes, detected: FileFormat, limits: ParseLimits) -> Draft:
    # Imported on first use: together their libraries cost a worker 0.8 s of CPU time (measured).
    if detected is FileFormat.DOCX:
        from ingest_svc.parsing.docx import parse_docx

        return parse_docx(data, limits)
    if detected is FileFormat.PPTX:
        from ingest_svc.parsing.pptx import parse_pptx

        return parse_pptx(data, limits)
    from ingest_svc.parsing.xlsx import parse_xlsx

    return parse_xlsx(data, limits)
