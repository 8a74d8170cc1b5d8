"""What lies in a zip archive or in an OLE compound file: which office document, and whether it is locked."""

from __future__ import annotations

import io
import struct
import zipfile
from typing import Any

import olefile

from ingest_svc.parsing.file_format import FileFormat
from radref.errors import InvalidInput

OLE_MAGIC = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
ZIP_MAGIC = (b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08")

# A content type list or a manifest names a few hundred parts at most.
_MAX_INDEX_BYTES = 4 << 20
# Main part of an Office Open XML package by its content type (ECMA-376 part 1, clauses 11-13); the part's
# name is free, and some exports do not call it word/document.xml.
_MAIN_TYPES = (
    (b"wordprocessingml.document.main+xml", FileFormat.DOCX),
    (b"wordprocessingml.template.main+xml", FileFormat.DOCX),
    (b"ms-word.document.macroenabled.main+xml", FileFormat.DOCX),
    (b"ms-word.template.macroenabledtemplate.main+xml", FileFormat.DOCX),
    (b"presentationml.presentation.main+xml", FileFormat.PPTX),
    (b"presentationml.slideshow.main+xml", FileFormat.PPTX),
    (b"presentationml.template.main+xml", FileFormat.PPTX),
    (b"ms-powerpoint.presentation.macroenabled.main+xml", FileFormat.PPTX),
    (b"ms-powerpoint.slideshow.macroenabled.main+xml", FileFormat.PPTX),
    (b"spreadsheetml.sheet.main+xml", FileFormat.XLSX),
    (b"spreadsheetml.template.main+xml", FileFormat.XLSX),
    (b"ms-excel.sheet.macroenabled.main+xml", FileFormat.XLSX),
    (b"ms-excel.sheet.binary.macroenabled.main", FileFormat.XLSB),
)
_MAIN_PARTS = (
    ("word/document.xml", FileFormat.DOCX),
    ("ppt/presentation.xml", FileFormat.PPTX),
    ("xl/workbook.xml", FileFormat.XLSX),
    ("xl/workbook.bin", FileFormat.XLSB),
)
_MIME_TYPES = (
    (b"opendocument.text", FileFormat.ODT),
    (b"opendocument.spreadsheet", FileFormat.ODS),
    (b"opendocument.presentation", FileFormat.ODP),
    (b"epub", FileFormat.EPUB),
)
# [MS-DOC] 2.5.2: bit fEncrypted of FibBase, whose flags stand at byte 10.
_DOC_FLAGS_AT, _DOC_ENCRYPTED = 10, 0x0100
# [MS-XLS] 2.4.117: FilePass follows BOF in an encrypted workbook; 2.4.103: EOF ends the globals.
_XLS_FILE_PASS, _XLS_EOF = 0x002F, 0x000A
# [MS-PPT] 2.3.2: headerToken of CurrentUserAtom, at byte 12 of the stream.
_PPT_TOKEN_AT, _PPT_ENCRYPTED = 12, 0xF3D1C4DF


def zip_format(data: bytes) -> FileFormat:
    """The document format of a zip archive, ZIP when it is none, ENCRYPTED_OFFICE for a locked OpenDocument.

    Raises:
        InvalidInput: CORRUPT_FILE, when the directory of the archive cannot be read.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = set(archive.namelist())
            mimetype = _index_part(archive, names, "mimetype")
            types = _index_part(archive, names, "[Content_Types].xml").lower()
            manifest = _index_part(archive, names, "META-INF/manifest.xml")
    except (zipfile.BadZipFile, OSError, EOFError, ValueError, RuntimeError, NotImplementedError) as exc:
        raise _corrupt_archive() from exc
    except Exception as exc:  # zlib and lzma have error types of their own
        raise _corrupt_archive() from exc
    for name, found in _MIME_TYPES:
        if name in mimetype:
            locked = found is not FileFormat.EPUB and b"encryption-data" in manifest
            return FileFormat.ENCRYPTED_OFFICE if locked else found
    for part, found in _MAIN_PARTS:
        if part in names:
            return found
    return next((found for name, found in _MAIN_TYPES if name in types), FileFormat.ZIP)


def _corrupt_archive() -> InvalidInput:
    return InvalidInput(
        "The file is damaged: its archive directory cannot be read. Save it again and resend it.",
        reason="CORRUPT_FILE",
    )


def _index_part(archive: zipfile.ZipFile, names: set[str], name: str) -> bytes:
    """The first bytes of a part, empty when it is absent."""
    if name not in names:
        return b""
    with archive.open(name) as part:
        return part.read(_MAX_INDEX_BYTES)


def ole_format(data: bytes) -> FileFormat:
    """The document format of a compound file by the streams of its root storage.

    Only the root counts: a presentation may carry whole workbooks in its inner storages.
    """
    try:
        with olefile.OleFileIO(io.BytesIO(data)) as container:
            return _ole_format(container)
    except Exception as exc:
        # olefile meets damage with errors of many types (struct, index, value, its own).
        raise InvalidInput(
            "The old Office file is damaged: its directory cannot be read. Save it again and resend it.",
            reason="CORRUPT_FILE",
        ) from exc


def _ole_format(container: Any) -> FileFormat:
    if container.exists("EncryptedPackage"):
        return FileFormat.ENCRYPTED_OFFICE
    if container.exists("PowerPoint Document"):
        return FileFormat.ENCRYPTED_OFFICE if _is_locked_ppt(container) else FileFormat.PPT
    if container.exists("WordDocument"):
        return FileFormat.ENCRYPTED_OFFICE if _is_locked_doc(container) else FileFormat.DOC
    for name in ("Workbook", "Book"):
        if container.exists(name):
            return FileFormat.ENCRYPTED_OFFICE if _is_locked_xls(container, name) else FileFormat.XLS
    return FileFormat.OLE


def _is_locked_doc(container: Any) -> bool:
    start = container.openstream("WordDocument").read(_DOC_FLAGS_AT + 2)
    return len(start) == _DOC_FLAGS_AT + 2 and bool(
        struct.unpack_from("<H", start, _DOC_FLAGS_AT)[0] & _DOC_ENCRYPTED
    )


def _is_locked_ppt(container: Any) -> bool:
    if not container.exists("Current User"):
        return False
    start = container.openstream("Current User").read(_PPT_TOKEN_AT + 4)
    return len(start) == _PPT_TOKEN_AT + 4 and bool(
        struct.unpack_from("<I", start, _PPT_TOKEN_AT)[0] == _PPT_ENCRYPTED
    )


def _is_locked_xls(container: Any, name: str) -> bool:
    stream = container.openstream(name)
    while len(head := stream.read(4)) == 4:
        kind, size = struct.unpack("<HH", head)
        if kind in {_XLS_FILE_PASS, _XLS_EOF}:
            return bool(kind == _XLS_FILE_PASS)
        stream.seek(size, io.SEEK_CUR)
    return False
