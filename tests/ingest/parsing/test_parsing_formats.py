import io
import struct
import zipfile
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest_svc.document import render
from ingest_svc.parsing.file_format import FileFormat
from ingest_svc.parsing.formats import detect_binary
from ingest_svc.parsing.limits import ParseLimits
from ingest_svc.parsing.parse import parse_file
from ingest_svc.parsing.refusals import refuse
from radref.errors import InvalidInput


def reason_of(data: bytes, name: str, limits: ParseLimits | None = None) -> str:
    with pytest.raises(InvalidInput) as caught:
        parse_file(data, name, limits or ParseLimits())
    return caught.value.reason


def zipped(parts: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return buffer.getvalue()


HTML = b"<!DOCTYPE html><html><body><h1>Dose</h1><p>Text</p></body></html>"
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\x00" * 600
FREE, END, FAT = 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFD


def compound(stream: str, content: bytes = b"\x00" * 64) -> bytes:
    """An OLE compound file with one stream of 4096 bytes in its root ([MS-CFB] version 3)."""
    header = struct.pack(
        "<8s16xHHHHH6xIIIIIIIIII", OLE[:8], 0x3E, 3, 0xFFFE, 9, 6, 0, 1, 1, 0, 4096, END, 0, END, 0, 0
    )
    header += struct.pack("<108I", *([FREE] * 108))
    fat = [FAT, END, *range(3, 10), END, *[FREE] * 118]

    def entry(name: str, kind: int, child: int, start: int, size: int) -> bytes:
        text = name.encode("utf-16-le")
        return struct.pack(
            "<64sHBBIII16xIQQIQ",
            text,
            len(text) + 2 if name else 0,
            kind,
            1,
            FREE,
            FREE,
            child,
            0,
            0,
            0,
            start,
            size,
        )

    directory = entry("Root Entry", 5, 1, END, 0) + entry(stream, 2, FREE, 2, 4096)
    directory += entry("", 0, FREE, 0, 0) * 2
    return header + struct.pack("<128I", *fat) + directory + content.ljust(4096, b"\x00")


@pytest.mark.parametrize(
    ("data", "name", "reason"),
    [
        (b"", "a.md", "EMPTY_FILE"),
        (b"  \n ", "a.txt", "EMPTY_FILE"),
        (HTML, "a.pdf", "FORMAT_MISMATCH"),
        (HTML, "a.docx", "FORMAT_MISMATCH"),
        (HTML, "a.md", "FORMAT_MISMATCH"),
        (b"%PDF-1.4 x", "a.html", "FORMAT_MISMATCH"),
        (b"plain words", "a.pdf", "FORMAT_MISMATCH"),
        (b"\x89PNG\r\n\x1a\n" + b"\x00" * 50, "a.pdf", "FORMAT_MISMATCH"),
        (b"\x89PNG\r\n\x1a\n" + b"\x00" * 50, "scan.png", "NO_TEXT"),
        (b"\xff\xd8\xff\xe0" + b"\x00" * 50, "photo", "NO_TEXT"),
        (compound("Nothing"), "a.doc", "UNSUPPORTED_FORMAT"),
        (compound("EncryptedPackage"), "a.docx", "PASSWORD_PROTECTED"),
        (compound("EncryptedPackage"), "a.xlsx", "PASSWORD_PROTECTED"),
        (compound("WordDocument", b"\x00" * 10 + b"\x00\x01"), "a.doc", "PASSWORD_PROTECTED"),
        (compound("Workbook", b"\x09\x08\x02\x00\x00\x06\x2f\x00\x00\x00"), "a.xls", "PASSWORD_PROTECTED"),
        (compound("WordDocument"), "a.xls", "FORMAT_MISMATCH"),
        (compound("WordDocument"), "a.docx", "FORMAT_MISMATCH"),
        (b"{\\rtf1\\ansi text}", "a.docx", "FORMAT_MISMATCH"),
        (OLE, "a.doc", "CORRUPT_FILE"),
        (b"%PDF-1.4 x", "a.csv", "FORMAT_MISMATCH"),
        (HTML, "a.csv", "FORMAT_MISMATCH"),
        (b'{"dose": [1, 2]}', "a.json", "UNSUPPORTED_FORMAT"),
        (b'<?xml version="1.0"?><a><b/></a>', "a.xml", "UNSUPPORTED_FORMAT"),
        (b"\x00" * 128 + b"DICM" + b"\x00" * 50, "image.dcm", "UNSUPPORTED_FORMAT"),
        (b"\x00\x01\x02\x03" * 100, "a.bin", "UNSUPPORTED_FORMAT"),
        (b"PK\x03\x04 broken", "a.docx", "CORRUPT_FILE"),
        (b"%PDF-1.7\nnothing that follows", "a.pdf", "CORRUPT_FILE"),
        (zipped({"xl/workbook.xml": b"<x/>"}), "a.xlsx", "CORRUPT_FILE"),
        (zipped({"ppt/presentation.xml": b"<x/>"}), "a.pptx", "CORRUPT_FILE"),
        (zipped({"xl/workbook.xml": b"<x/>"}), "a.pptx", "FORMAT_MISMATCH"),
        (zipped({"mimetype": b"application/epub+zip"}), "a.epub", "UNSUPPORTED_FORMAT"),
        (zipped({"notes.txt": b"x"}), "a.zip", "UNSUPPORTED_FORMAT"),
        (zipped({"word/document.xml": b"<x/>"}), "a.docx", "CORRUPT_FILE"),
        (b"<html><body><script>x</script></body></html>", "a.html", "NO_TEXT"),
    ],
)
def test_refusals(data: bytes, name: str, reason: str) -> None:
    assert reason_of(data, name) == reason


@pytest.mark.parametrize(
    ("data", "name", "expected"),
    [
        (b"# Dose\n\n## Limit\n\nText.", "a.txt", "markdown"),
        (b"# Dose\n\nText.", "a.md", "markdown"),
        (b"Just words.", "a.md", "markdown"),
        (b"Just words, and more; no table.", "notes", "text"),
        (HTML, "a.htm", "html"),
        (HTML, "download", "html"),
        (b'<?xml version="1.0"?>\n' + HTML, "a.xhtml", "html"),
        (b"<h1>Dose</h1><p>One</p><p>Two</p>", "fragment.html", "html"),
    ],
)
def test_detection(data: bytes, name: str, expected: str) -> None:
    assert parse_file(data, name, ParseLimits()).report.format == expected


def test_mismatch_names_both_formats() -> None:
    with pytest.raises(InvalidInput, match=r"\.pdf.*html"):
        parse_file(HTML, "act.pdf", ParseLimits())


def test_refusal_names_format_and_way_out() -> None:
    with pytest.raises(InvalidInput, match=r"RTF.*docx"):
        raise refuse(FileFormat.RTF)
    with pytest.raises(InvalidInput, match=r"HEIC.*JPEG"):
        parse_file(b"\0\0\0\x18ftypheic\0\0\0\0mif1heic", "a.heic", ParseLimits())


@pytest.mark.parametrize("name", ["a.png", "a.pdf"])
def test_scans_are_refused_with_what_to_install(make_pdf: Callable[..., bytes], name: str) -> None:
    """An image, and a PDF with something drawn on it but no text."""
    drawn = make_pdf([[]], [[(100, 100, 500, 600)]])
    data = b"\x89PNG\r\n\x1a\n" if name == "a.png" else drawn
    with pytest.raises(InvalidInput, match=r"scan.*OCR.*text\. Install tesseract\.$") as caught:
        parse_file(data, name, ParseLimits(), no_ocr="Install tesseract.")
    assert (caught.value.reason, caught.value.metadata) == ("NO_TEXT", {"missing": "ocr_engine"})


def test_blank_pages_need_no_engine(make_pdf: Callable[..., bytes]) -> None:
    with pytest.raises(InvalidInput, match="blank") as caught:
        parse_file(make_pdf([[]]), "a.pdf", ParseLimits(), no_ocr="Install tesseract.")
    assert "Install" not in caught.value.message


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"II+\0\x08\0\0\0" + bytes(30), FileFormat.IMAGE),
        (b"MM\0+\0\x08\0\0" + bytes(30), FileFormat.IMAGE),
        (b"\0\0\0\x0cjP  \r\n\x87\n", FileFormat.IMAGE),
        (b"\xff\x4f\xff\x51\0\x29", FileFormat.IMAGE),
        (b"\0\0\0\x1cftypmif1\0\0\0\0mif1avifmiaf", FileFormat.IMAGE),
        (b"\0\0\0\x18ftypmif1\0\0\0\0mif1heic", FileFormat.HEIC),
        # A video, and a box that claims four gigabytes.
        (b"\0\0\0\x18ftypisom\0\0\0\0isommp42", None),
        (b"\xff\xff\xff\xffftypisom" + b"\0" * 5000, None),
    ],
)
def test_pictures_of_newer_kinds(data: bytes, expected: FileFormat | None) -> None:
    assert detect_binary(data) is expected


def test_size_limits() -> None:
    assert reason_of(b"word " * 100, "a.txt", ParseLimits(max_bytes=100)) == "FILE_TOO_LARGE"
    assert reason_of(b"word " * 100, "a.txt", ParseLimits(max_characters=100)) == "FILE_TOO_LARGE"


def test_zip_bomb_is_refused_before_it_unpacks(
    docx_bytes: Callable[[Any], bytes], new_docx: Callable[[], Any]
) -> None:
    document = new_docx()
    document.add_paragraph("x")
    data = docx_bytes(document)
    buffer = io.BytesIO(data)
    with zipfile.ZipFile(buffer, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/media/bomb.xml", b"\x20" * (40 << 20))
    assert reason_of(buffer.getvalue(), "a.docx") == "FILE_TOO_LARGE"
    assert reason_of(data, "a.docx", ParseLimits(max_expanded_bytes=1000)) == "FILE_TOO_LARGE"


def test_entities_are_refused(docx_bytes: Callable[[Any], bytes], new_docx: Callable[[], Any]) -> None:
    source = zipfile.ZipFile(io.BytesIO(docx_bytes(new_docx())))
    parts = {name: source.read(name) for name in source.namelist()}
    body = parts["word/document.xml"]
    declared = body.index(b"?>") + 2
    evil = b'<!DOCTYPE w [<!ENTITY x SYSTEM "file:///etc/passwd">]>'
    parts["word/document.xml"] = body[:declared] + evil + body[declared:]
    assert reason_of(zipped(parts), "a.docx") == "CORRUPT_FILE"


@settings(max_examples=80, deadline=None)
@given(
    st.binary(min_size=1, max_size=400),
    st.sampled_from(["a.md", "a.txt", "a.html", "a.pdf", "a.docx", "a.csv", "a.xlsx", "a"]),
)
def test_any_bytes_parse_or_are_refused(data: bytes, name: str) -> None:
    try:
        document = parse_file(data, name, ParseLimits())
    except InvalidInput as exc:
        outcome = exc.reason and exc.message
    else:
        outcome = render(document.blocks)[0].strip()
    assert outcome
