"""The formats that radref tells apart."""

from __future__ import annotations

from enum import StrEnum


class FileFormat(StrEnum):
    """What a file is by its content; `SUPPORTED` in formats.py says which ones are read."""

    MARKDOWN = "markdown"
    TEXT = "text"
    HTML = "html"
    CSV = "csv"
    PDF = "pdf"
    DOCX = "docx"
    PPTX = "pptx"
    XLSX = "xlsx"
    RTF = "rtf"
    DOC = "doc"
    PPT = "ppt"
    XLS = "xls"
    XLSB = "xlsb"
    ODT = "odt"
    ODS = "ods"
    ODP = "odp"
    EPUB = "epub"
    JSON = "json"
    XML = "xml"
    ZIP = "zip"
    ARCHIVE = "archive"
    IMAGE = "image"
    HEIC = "heic photograph"
    DICOM = "dicom"
    ENCRYPTED_OFFICE = "encrypted office document"
    OLE = "old office document"
    BINARY = "binary data"
