"""What a file is, by its content; the name only decides between look-alikes."""

from __future__ import annotations

import io
import json
import re
import zipfile
from enum import StrEnum
from pathlib import PurePosixPath

from radref.errors import InvalidInput


class FileFormat(StrEnum):
    """Formats that are told apart. The first five are read."""

    MARKDOWN = "markdown"
    TEXT = "text"
    HTML = "html"
    DOCX = "docx"
    PDF = "pdf"
    RTF = "rtf"
    DOC = "doc"
    PPT = "ppt"
    PPTX = "pptx"
    XLS = "xls"
    XLSX = "xlsx"
    ODT = "odt"
    EPUB = "epub"
    CSV = "csv"
    JSON = "json"
    XML = "xml"
    ZIP = "zip"
    ARCHIVE = "archive"
    IMAGE = "image"
    DICOM = "dicom"
    ENCRYPTED_OFFICE = "encrypted office document"
    OLE = "old office document"
    BINARY = "binary data"


SUPPORTED = frozenset(
    {FileFormat.MARKDOWN, FileFormat.TEXT, FileFormat.HTML, FileFormat.DOCX, FileFormat.PDF}
)

# What the name promises. Extensions that are not here (.txt, none, unknown) promise nothing.
_PROMISED: dict[str, frozenset[FileFormat]] = {
    "pdf": frozenset({FileFormat.PDF}),
    "docx": frozenset({FileFormat.DOCX, FileFormat.ENCRYPTED_OFFICE}),
    "docm": frozenset({FileFormat.DOCX, FileFormat.ENCRYPTED_OFFICE}),
    "html": frozenset({FileFormat.HTML}),
    "htm": frozenset({FileFormat.HTML}),
    "xhtml": frozenset({FileFormat.HTML}),
    "md": frozenset({FileFormat.MARKDOWN, FileFormat.TEXT}),
    "markdown": frozenset({FileFormat.MARKDOWN, FileFormat.TEXT}),
    "rtf": frozenset({FileFormat.RTF}),
    "doc": frozenset({FileFormat.DOC, FileFormat.OLE, FileFormat.ENCRYPTED_OFFICE}),
    "ppt": frozenset({FileFormat.PPT, FileFormat.OLE, FileFormat.ENCRYPTED_OFFICE}),
    "pptx": frozenset({FileFormat.PPTX, FileFormat.ENCRYPTED_OFFICE}),
    "xls": frozenset({FileFormat.XLS, FileFormat.OLE, FileFormat.ENCRYPTED_OFFICE}),
    "xlsx": frozenset({FileFormat.XLSX, FileFormat.ENCRYPTED_OFFICE}),
    "csv": frozenset({FileFormat.CSV, FileFormat.TEXT}),
    "png": frozenset({FileFormat.IMAGE}),
    "jpg": frozenset({FileFormat.IMAGE}),
    "jpeg": frozenset({FileFormat.IMAGE}),
    "tif": frozenset({FileFormat.IMAGE}),
    "tiff": frozenset({FileFormat.IMAGE}),
    "json": frozenset({FileFormat.JSON}),
    "dcm": frozenset({FileFormat.DICOM}),
}

_MAGIC: tuple[tuple[bytes, FileFormat], ...] = (
    (b"{\\rtf", FileFormat.RTF),
    (b"\x89PNG\r\n\x1a\n", FileFormat.IMAGE),
    (b"\xff\xd8\xff", FileFormat.IMAGE),
    (b"GIF87a", FileFormat.IMAGE),
    (b"GIF89a", FileFormat.IMAGE),
    (b"II*\x00", FileFormat.IMAGE),
    (b"MM\x00*", FileFormat.IMAGE),
    (b"BM", FileFormat.IMAGE),
    (b"\x1f\x8b", FileFormat.ARCHIVE),
    (b"7z\xbc\xaf\x27\x1c", FileFormat.ARCHIVE),
    (b"Rar!\x1a\x07", FileFormat.ARCHIVE),
    (b"BZh", FileFormat.ARCHIVE),
    (b"\xfd7zXZ\x00", FileFormat.ARCHIVE),
)
_OLE_MAGIC = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ZIP_MAGIC = (b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08")

_HTML_START = re.compile(
    r"\s*(?:<\?xml[^>]*\?>\s*)?(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html[\s>])", re.I | re.S
)
_HTML_TAG = re.compile(
    r"</?(?:html|head|body|div|p|table|tr|td|h[1-6]|ul|ol|li|span|br|title|meta)[\s/>]", re.I
)
_XML_START = re.compile(r"\s*<\?xml\b")
_ATX_HEADING = re.compile(r"^ {0,3}#{1,6} \S", re.M)
_TABLE_RULE = re.compile(r"^\s*\|?\s*:?-{3,}:?\s*(?:\|\s*:?-{3,}:?\s*)+\|?\s*$", re.M)
_FENCE = re.compile(r"^ {0,3}```", re.M)


def extension(file_name: str) -> str:
    """Lower-case extension without the dot; empty when there is none."""
    return PurePosixPath(file_name.replace("\\", "/")).suffix.lower().lstrip(".")


def check_name(detected: FileFormat, file_name: str) -> None:
    """Compares content and name.

    Raises:
        InvalidInput: FORMAT_MISMATCH, when the extension promises another format.
    """
    promised = _PROMISED.get(extension(file_name))
    if promised is not None and detected not in promised:
        raise InvalidInput(
            f"The name ends in .{extension(file_name)}, but the content is {detected.value}. "
            "Send the right file or rename it.",
            reason="FORMAT_MISMATCH",
            field="file_name",
            metadata={"extension": extension(file_name), "detected": detected.value},
        )


def detect_binary(data: bytes) -> FileFormat | None:
    """The format of a file that is not plain text, or None.

    Raises:
        InvalidInput: CORRUPT_FILE, for an archive whose directory cannot be read.
    """
    # Readers accept up to 1 KiB of rubbish before the header (ISO 32000-1, implementation note 13).
    if b"%PDF-" in data[:1024]:
        return FileFormat.PDF
    if data.startswith(_ZIP_MAGIC):
        return _zip_format(data)
    if data.startswith(_OLE_MAGIC):
        return _ole_format(data)
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return FileFormat.IMAGE
    if data[128:132] == b"DICM":
        return FileFormat.DICOM
    for magic, found in _MAGIC:
        if data.startswith(magic) and not (magic == b"BM" and data[6:10] != b"\x00\x00\x00\x00"):
            return found
    return None


def detect_text(text: str, file_name: str) -> FileFormat:
    """The format of decoded text."""
    if not text.strip():
        return FileFormat.TEXT
    head = text[:16384]
    if _HTML_START.match(head):
        return FileFormat.HTML
    if _XML_START.match(head):
        return FileFormat.HTML if "<html" in head.lower() else FileFormat.XML
    suffix = extension(file_name)
    markdown_name = suffix in {"md", "markdown"}
    if not markdown_name and head.lstrip().startswith("<") and len(_HTML_TAG.findall(head)) >= 3:
        return FileFormat.HTML
    if suffix in {"html", "htm", "xhtml"} and len(_HTML_TAG.findall(head)) >= 2:
        return FileFormat.HTML
    if _is_json(text):
        return FileFormat.JSON
    if suffix == "csv" or (not markdown_name and _is_delimited(text)):
        return FileFormat.CSV
    if markdown_name or has_markdown(text):
        return FileFormat.MARKDOWN
    return FileFormat.TEXT


def has_markdown(text: str) -> bool:
    """Structure that plain text has only by intention: two # headings, a table rule or a code fence pair."""
    return (
        len(_ATX_HEADING.findall(text)) >= 2
        or _TABLE_RULE.search(text) is not None
        or len(_FENCE.findall(text)) >= 2
    )


def _is_json(text: str) -> bool:
    if text.lstrip()[:1] not in {"{", "["}:
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _is_delimited(text: str) -> bool:
    """Every line has the same number of separators, at least two, over at least four lines."""
    lines = [line for line in text.splitlines()[:200] if line.strip()]
    if len(lines) < 4:
        return False
    return any(
        lines[0].count(mark) >= 2 and all(line.count(mark) == lines[0].count(mark) for line in lines)
        for mark in (";", "\t", ",")
    )


def _zip_format(data: bytes) -> FileFormat:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = set(archive.namelist())
            mimetype = archive.read("mimetype")[:80] if _small_part(archive, "mimetype") else b""
    except (zipfile.BadZipFile, OSError, ValueError, RuntimeError, NotImplementedError) as exc:
        raise InvalidInput(
            "The file is damaged: its archive directory cannot be read. Save it again and resend it.",
            reason="CORRUPT_FILE",
        ) from exc
    for part, found in (
        ("word/document.xml", FileFormat.DOCX),
        ("ppt/presentation.xml", FileFormat.PPTX),
        ("xl/workbook.xml", FileFormat.XLSX),
    ):
        if part in names:
            return found
    if b"opendocument" in mimetype:
        return FileFormat.ODT
    if b"epub" in mimetype:
        return FileFormat.EPUB
    return FileFormat.ZIP


def _small_part(archive: zipfile.ZipFile, name: str) -> bool:
    return name in archive.namelist() and archive.getinfo(name).file_size <= 256


def _ole_format(data: bytes) -> FileFormat:
    """The directory of a compound file names its streams in UTF-16."""
    for stream, found in (
        ("EncryptedPackage", FileFormat.ENCRYPTED_OFFICE),
        ("WordDocument", FileFormat.DOC),
        ("Workbook", FileFormat.XLS),
        ("PowerPoint Document", FileFormat.PPT),
    ):
        if stream.encode("utf-16-le") in data:
            return found
    return FileFormat.OLE
