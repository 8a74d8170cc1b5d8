"""What a file is, by its content; the name only decides between look-alikes."""

from __future__ import annotations

import json
import re
from pathlib import PurePosixPath

from ingest_svc.parsing.containers import OLE_MAGIC, ZIP_MAGIC, ole_format, zip_format
from ingest_svc.parsing.csv_dialect import looks_delimited
from ingest_svc.parsing.file_format import FileFormat
from radref.errors import InvalidInput

# Read everywhere; those of libreoffice.TARGETS are read too where LibreOffice is installed.
SUPPORTED = frozenset(
    {
        FileFormat.MARKDOWN,
        FileFormat.TEXT,
        FileFormat.HTML,
        FileFormat.CSV,
        FileFormat.PDF,
        FileFormat.DOCX,
        FileFormat.PPTX,
        FileFormat.XLSX,
    }
)
_WORD = frozenset({FileFormat.DOCX, FileFormat.ENCRYPTED_OFFICE})
_SLIDES = frozenset({FileFormat.PPTX, FileFormat.ENCRYPTED_OFFICE})
_WORKBOOK = frozenset({FileFormat.XLSX, FileFormat.ENCRYPTED_OFFICE})
# Word writes and opens RTF under .doc without a word; law databases export their acts so.
_OLD_WORD = frozenset({FileFormat.DOC, FileFormat.RTF, FileFormat.OLE, FileFormat.ENCRYPTED_OFFICE})
_OLD_SLIDES = frozenset({FileFormat.PPT, FileFormat.OLE, FileFormat.ENCRYPTED_OFFICE})
_OLD_WORKBOOK = frozenset({FileFormat.XLS, FileFormat.OLE, FileFormat.ENCRYPTED_OFFICE})

# What the name promises. Extensions that are not here (.txt, none, unknown) promise nothing.
_PROMISED: dict[str, frozenset[FileFormat]] = {
    "pdf": frozenset({FileFormat.PDF}),
    "docx": _WORD,
    "docm": _WORD,
    "dotx": _WORD,
    "dotm": _WORD,
    "html": frozenset({FileFormat.HTML}),
    "htm": frozenset({FileFormat.HTML}),
    "xhtml": frozenset({FileFormat.HTML}),
    "md": frozenset({FileFormat.MARKDOWN, FileFormat.TEXT}),
    "markdown": frozenset({FileFormat.MARKDOWN, FileFormat.TEXT}),
    "rtf": frozenset({FileFormat.RTF}),
    "doc": _OLD_WORD,
    "dot": _OLD_WORD,
    "ppt": _OLD_SLIDES,
    "pps": _OLD_SLIDES,
    "pptx": _SLIDES,
    "pptm": _SLIDES,
    "ppsx": _SLIDES,
    "ppsm": _SLIDES,
    "potx": _SLIDES,
    "xls": _OLD_WORKBOOK,
    "xlsx": _WORKBOOK,
    "xlsm": _WORKBOOK,
    "xltx": _WORKBOOK,
    "xlsb": frozenset({FileFormat.XLSB, FileFormat.ENCRYPTED_OFFICE}),
    "odt": frozenset({FileFormat.ODT, FileFormat.ENCRYPTED_OFFICE}),
    "ods": frozenset({FileFormat.ODS, FileFormat.ENCRYPTED_OFFICE}),
    "odp": frozenset({FileFormat.ODP, FileFormat.ENCRYPTED_OFFICE}),
    "epub": frozenset({FileFormat.EPUB}),
    "csv": frozenset({FileFormat.CSV}),
    "tsv": frozenset({FileFormat.CSV}),
    "png": frozenset({FileFormat.IMAGE}),
    "jpg": frozenset({FileFormat.IMAGE}),
    "jpeg": frozenset({FileFormat.IMAGE}),
    "tif": frozenset({FileFormat.IMAGE}),
    "tiff": frozenset({FileFormat.IMAGE}),
    "webp": frozenset({FileFormat.IMAGE}),
    "bmp": frozenset({FileFormat.IMAGE}),
    "gif": frozenset({FileFormat.IMAGE}),
    "jp2": frozenset({FileFormat.IMAGE}),
    "j2k": frozenset({FileFormat.IMAGE}),
    "jpf": frozenset({FileFormat.IMAGE}),
    "jpx": frozenset({FileFormat.IMAGE}),
    "avif": frozenset({FileFormat.IMAGE}),
    "heic": frozenset({FileFormat.HEIC}),
    "heif": frozenset({FileFormat.HEIC, FileFormat.IMAGE}),
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
    # BigTIFF: version 43 and 64-bit offsets.
    (b"II+\x00", FileFormat.IMAGE),
    (b"MM\x00+", FileFormat.IMAGE),
    # JPEG 2000: its file format (ISO 15444-1 annex I) and its bare code stream (annex A).
    (b"\x00\x00\x00\x0cjP  \r\n\x87\n", FileFormat.IMAGE),
    (b"\xff\x4f\xff\x51\x00", FileFormat.IMAGE),
    (b"BM", FileFormat.IMAGE),
    (b"\x1f\x8b", FileFormat.ARCHIVE),
    (b"7z\xbc\xaf\x27\x1c", FileFormat.ARCHIVE),
    (b"Rar!\x1a\x07", FileFormat.ARCHIVE),
    (b"BZh", FileFormat.ARCHIVE),
    (b"\xfd7zXZ\x00", FileFormat.ARCHIVE),
)

# Brands of ISO base media files (ISO 14496-12 clause 4.3) that hold pictures: AV1, and HEVC as phones write.
_AV1_BRANDS = frozenset({b"avif", b"avis"})
_HEVC_BRANDS = frozenset({b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1"})
_MAX_BRANDS = 256

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
    if data.startswith(ZIP_MAGIC):
        return zip_format(data)
    if data.startswith(OLE_MAGIC):
        return ole_format(data)
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return FileFormat.IMAGE
    if data[4:8] == b"ftyp":
        box = data[: min(int.from_bytes(data[:4]), _MAX_BRANDS)]
        brands = {box[8:12], *(box[at : at + 4] for at in range(16, len(box), 4))}
        if brands & _AV1_BRANDS:
            return FileFormat.IMAGE
        if brands & _HEVC_BRANDS:
            return FileFormat.HEIC
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
    if suffix in {"csv", "tsv"} or (not markdown_name and looks_delimited(text)):
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
