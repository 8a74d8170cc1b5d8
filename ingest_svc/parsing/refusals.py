"""Refusals of formats that this installation does not read, each with what the user can do."""

from __future__ import annotations

from ingest_svc.parsing.file_format import FileFormat
from radref.errors import InvalidInput

# What a refusal for want of text names as missing in its metadata.
OCR_ENGINE = "ocr_engine"
_ADVICE: dict[FileFormat, tuple[str, str]] = {
    FileFormat.RTF: ("an RTF document", "Save it as .docx and send that."),
    FileFormat.DOC: ("a Word 97-2003 document (.doc)", "Save it as .docx and send that."),
    FileFormat.ODT: ("an OpenDocument text", "Save it as .docx and send that."),
    FileFormat.PPT: ("a PowerPoint 97-2003 presentation (.ppt)", "Save it as .pptx and send that."),
    FileFormat.ODP: ("an OpenDocument presentation", "Save it as .pptx and send that."),
    FileFormat.XLS: ("an Excel 97-2003 workbook (.xls)", "Save it as .xlsx and send that."),
    FileFormat.XLSB: ("a binary Excel workbook (.xlsb)", "Save it as .xlsx and send that."),
    FileFormat.ODS: ("an OpenDocument spreadsheet", "Save it as .xlsx and send that."),
    FileFormat.OLE: ("an old Office document", "Save it as .docx, .pptx, .xlsx or PDF and send that."),
    FileFormat.EPUB: ("an EPUB book", "Convert it to PDF or HTML and send that."),
    FileFormat.JSON: ("JSON data", "Send the document it was made from as .docx, PDF, HTML or Markdown."),
    FileFormat.XML: ("XML data", "Convert it to HTML, .docx or PDF and send that."),
    FileFormat.ZIP: ("a zip archive", "Unpack it and send the documents one by one."),
    FileFormat.ARCHIVE: ("a packed archive", "Unpack it and send the documents one by one."),
    FileFormat.DICOM: ("a DICOM object", "The knowledge base holds reference documents, no patient images."),
    FileFormat.HEIC: ("a HEIC photograph", "Save it as JPEG, PNG or PDF and send that."),
    FileFormat.BINARY: (
        "binary data of an unknown kind",
        "Send the document as .docx, PDF, HTML, Markdown or text.",
    ),
}


def refuse(detected: FileFormat) -> InvalidInput:
    """The error for a format that is not read here: UNSUPPORTED_FORMAT, NO_TEXT or PASSWORD_PROTECTED."""
    if detected is FileFormat.ENCRYPTED_OFFICE:
        return InvalidInput(
            "The file is encrypted. Remove its password and send it again.", reason="PASSWORD_PROTECTED"
        )
    if detected is FileFormat.IMAGE:
        return no_text("The file is an image")
    name, advice = _ADVICE[detected]
    return InvalidInput(
        f"The file is {name}, which this installation does not read. {advice}",
        reason="UNSUPPORTED_FORMAT",
        metadata={"detected": detected.value},
    )


def no_text(subject: str) -> InvalidInput:
    """The error for scans and photographs: NO_TEXT."""
    return InvalidInput(
        f"{subject} without a usable text layer (a scan), and no OCR engine is part of this installation. "
        "Send a version with text.",
        reason="NO_TEXT",
        metadata={"missing": OCR_ENGINE},
    )


def nothing_legible(subject: str) -> InvalidInput:
    """The error where an OCR engine looked and found nothing: NO_TEXT."""
    return InvalidInput(
        f"No text could be read from {subject}: blank, pictures without text, or too blurred.",
        reason="NO_TEXT",
    )
