"""`parse_file`: one file in, a parsed document out."""

from __future__ import annotations

from ingest_svc.document import BlockKind, ParsedDocument, ParseReport, render
from ingest_svc.parsing.docx import parse_docx
from ingest_svc.parsing.draft import Draft
from ingest_svc.parsing.encoding import DecodedText, decode
from ingest_svc.parsing.formats import SUPPORTED, FileFormat, check_name, detect_binary, detect_text
from ingest_svc.parsing.html import declared_encoding, parse_html
from ingest_svc.parsing.language import detect_language
from ingest_svc.parsing.limits import ParseLimits
from ingest_svc.parsing.markdown import parse_markdown
from ingest_svc.parsing.pdf import parse_pdf
from ingest_svc.parsing.plain_text import parse_text
from ingest_svc.parsing.readable import unreadable_share
from ingest_svc.parsing.refusals import refuse
from radref.errors import InvalidInput


def parse_file(data: bytes, file_name: str, limits: ParseLimits) -> ParsedDocument:
    """Parses a Markdown, plain text, HTML, DOCX or text PDF file.

    The format is told by content; `file_name` (its extension) is only compared with it.

    Raises:
        InvalidInput: EMPTY_FILE, FILE_TOO_LARGE, FORMAT_MISMATCH, UNSUPPORTED_FORMAT, PASSWORD_PROTECTED,
            CORRUPT_FILE, UNDECODABLE_TEXT or NO_TEXT; the message says what the user can do.
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
    if detected not in SUPPORTED:
        raise refuse(detected)
    if detected is FileFormat.PDF:
        draft = parse_pdf(data, limits)
    elif detected is FileFormat.DOCX:
        draft = parse_docx(data, limits)
    else:
        assert decoded is not None
        draft = _parse_text_format(decoded.text, detected, limits)
    return _reported(draft, detected, decoded.encoding if decoded else "", limits)


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
    flat = parse_text(text)
    return Draft(flat.blocks, "plain-text", removed_characters=flat.removed_characters)


def _reported(draft: Draft, detected: FileFormat, encoding: str, limits: ParseLimits) -> ParsedDocument:
    text, _ = render(draft.blocks)
    if not any(char.isalnum() for char in text):
        raise InvalidInput("The file holds no text.", reason="NO_TEXT")
    if len(text) > limits.max_characters:
        raise _too_long(limits)
    kinds = [block.kind for block in draft.blocks]
    report = ParseReport(
        format=detected.value,
        parser=draft.parser,
        encoding=encoding,
        pages=draft.pages,
        tables=kinds.count(BlockKind.TABLE),
        headings=kinds.count(BlockKind.HEADING),
        image_share=draft.image_share,
        unreadable_share=max(draft.unreadable_share, unreadable_share(text)),
        language=detect_language(text),
        characters=len(text),
        removed_characters=draft.removed_characters,
        warnings=draft.warnings,
    )
    return ParsedDocument(draft.blocks, draft.title, report)


def _too_long(limits: ParseLimits) -> InvalidInput:
    return InvalidInput(
        f"The document has more than {limits.max_characters} characters. Split it.",
        reason="FILE_TOO_LARGE",
        metadata={"limit_characters": str(limits.max_characters)},
    )
