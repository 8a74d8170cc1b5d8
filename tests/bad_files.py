"""Files as they really arrive: empty, damaged, protected, misnamed, hostile, or in an old encoding.

Each maker returns the same content every time and says how radref has to answer.
"""

from __future__ import annotations

import io
import random
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from docx import Document
from PIL import Image, ImageDraw
from pypdf import PdfReader, PdfWriter

DOCUMENTS = Path(__file__).resolve().parents[1] / "samples" / "documents"
PDF_SAMPLE = "safety-spill-procedure-2024.pdf"
RUSSIAN_TEXT = (
    "Порядок подготовки кабинета к приёму пациентов\n\n"
    "Перед началом смены рентгенолаборант проверяет, что дверь процедурной закрывается, сигнал над ней "
    "горит, а на пульте нет сообщений об ошибках. Объём записи в журнале не ограничен.\n\n"
    "Если мощность дозы за дверью превышает допустимую, съёмку прекращают и сообщают об этом инженеру. "
    "Ещё раз измеряют только после ремонта.\n"
)
DOCX_MAIN_PART = "word/document.xml"
WORD_NAMESPACE = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
# Far above any honest packing ratio (Word's XML packs 10-40 fold), yet quick to make.
BOMB_BYTES = 48 << 20


@dataclass(frozen=True, slots=True)
class BadFile:
    """A file and the answer it must get.

    Attributes:
        reason: ErrorReason without prefix; None when the file has to be read.
        text: a phrase that the parsed text must hold, for files that have to be read.
    """

    file_name: str
    data: bytes
    reason: str | None
    text: str = ""


def empty_file() -> BadFile:
    return BadFile("empty.md", b"", "EMPTY_FILE")


def whitespace_only() -> BadFile:
    return BadFile("blank.txt", b" \r\n\t\n   \r\n", "EMPTY_FILE")


def pdf_with_password() -> BadFile:
    """A PDF that nobody can open without its password."""
    return BadFile("protected.pdf", _encrypted_pdf(user_password="northfield"), "PASSWORD_PROTECTED")


def pdf_with_owner_password() -> BadFile:
    """Everybody may open it, only its owner may change it: ordinary for published acts, so it is read."""
    text = "it replaces edition 2 of 1 february 2021"
    return BadFile("restricted.pdf", _encrypted_pdf(user_password=""), None, text)


def pdf_named_docx() -> BadFile:
    return BadFile("procedure.docx", _pdf(), "FORMAT_MISMATCH")


def html_named_pdf() -> BadFile:
    page = "<!DOCTYPE html><html><head><title>Login</title></head><body><p>Please log in.</p></body></html>"
    return BadFile("guideline.pdf", page.encode(), "FORMAT_MISMATCH")


def png_named_txt() -> BadFile:
    """A name that ends in .txt promises no format, so what counts is that a picture holds no text."""
    return BadFile("notes.txt", _picture("PNG"), "NO_TEXT")


def png_named_pdf() -> BadFile:
    return BadFile("picture.pdf", _picture("PNG"), "FORMAT_MISMATCH")


def scanned_pdf() -> BadFile:
    """A PDF whose only page is a picture."""
    return BadFile("scan.pdf", _picture("PDF"), "NO_TEXT")


def truncated_pdf() -> BadFile:
    """A PDF whose upload broke off: page objects are there, the cross-reference table is not."""
    data = _pdf()
    return BadFile("broken.pdf", data[: len(data) * 2 // 3], "CORRUPT_FILE")


def truncated_docx() -> BadFile:
    data = _docx()
    return BadFile("broken.docx", data[: len(data) * 2 // 3], "CORRUPT_FILE")


def docx_with_damaged_part() -> BadFile:
    """A readable archive whose main part is cut in the middle of its XML."""
    part = _read_part(_docx())
    return BadFile("half.docx", _with_part(_docx(), part[: len(part) // 2]), "CORRUPT_FILE")


def docx_zip_bomb() -> BadFile:
    """A small .docx whose main part unpacks a thousandfold."""
    filler = b"<w:p><w:r><w:t>" + b"A" * BOMB_BYTES + b"</w:t></w:r></w:p>"
    return BadFile("bomb.docx", _with_part(_docx(), _word_xml(filler)), "FILE_TOO_LARGE")


def docx_entity_bomb() -> BadFile:
    """Nested XML entities that expand to 10^9 characters; Office Open XML allows no document type at all."""
    levels = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
    declaration = f'<!DOCTYPE bomb [<!ENTITY l0 "A">{levels}]>'.encode()
    xml = _word_xml(b"<w:p><w:r><w:t>&l9;</w:t></w:r></w:p>", declaration)
    return BadFile("entities.docx", _with_part(_docx(), xml), "CORRUPT_FILE")


def docx_external_entity() -> BadFile:
    """An XML entity that would read a file of the server into the document."""
    declaration = b'<!DOCTYPE leak [<!ENTITY secret SYSTEM "file:///etc/hostname">]>'
    xml = _word_xml(b"<w:p><w:r><w:t>&secret;</w:t></w:r></w:p>", declaration)
    return BadFile("external.docx", _with_part(_docx(), xml), "CORRUPT_FILE")


def random_bytes_named_md() -> BadFile:
    """Bytes with zeros among them: no text in any 8-bit encoding, so not what .md promises."""
    return BadFile("random.md", b"\x8f" + random.Random(4).randbytes(4096), "FORMAT_MISMATCH")


def damaged_utf8() -> BadFile:
    """UTF-8 with one byte lost in the middle of a letter."""
    data = RUSSIAN_TEXT.encode()
    return BadFile("damaged.txt", data[:101] + data[102:], "UNDECODABLE_TEXT")


def russian_cp1251() -> BadFile:
    return _russian("cp1251")


def russian_koi8_r() -> BadFile:
    return _russian("koi8-r")


def russian_cp866() -> BadFile:
    return _russian("cp866")


def russian_utf_16() -> BadFile:
    """With byte order mark, as Windows' Notepad saves "Unicode"."""
    return _russian("utf-16")


def russian_utf_16_be_without_mark() -> BadFile:
    return _russian("utf-16-be")


def russian_utf_32() -> BadFile:
    """With byte order mark."""
    return _russian("utf-32")


MAKERS: tuple[Callable[[], BadFile], ...] = (
    empty_file,
    whitespace_only,
    pdf_with_password,
    pdf_with_owner_password,
    pdf_named_docx,
    html_named_pdf,
    png_named_txt,
    png_named_pdf,
    scanned_pdf,
    truncated_pdf,
    truncated_docx,
    docx_with_damaged_part,
    docx_zip_bomb,
    docx_entity_bomb,
    docx_external_entity,
    random_bytes_named_md,
    damaged_utf8,
    russian_cp1251,
    russian_koi8_r,
    russian_cp866,
    russian_utf_16,
    russian_utf_16_be_without_mark,
    russian_utf_32,
)


def _russian(encoding: str) -> BadFile:
    phrase = "съёмку прекращают и сообщают об этом инженеру"
    return BadFile(f"russian-{encoding}.txt", RUSSIAN_TEXT.encode(encoding), None, phrase)


def _pdf() -> bytes:
    return (DOCUMENTS / PDF_SAMPLE).read_bytes()


def _encrypted_pdf(user_password: str) -> bytes:
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(_pdf())))
    writer.encrypt(user_password=user_password, owner_password="owner", algorithm="AES-256")
    buffer = io.BytesIO()
    writer.write(buffer)
    return buffer.getvalue()


def _picture(file_format: str) -> bytes:
    page = Image.new("L", (600, 800), 255)
    ImageDraw.Draw(page).text((60, 80), "A page without a text layer", fill=0)
    buffer = io.BytesIO()
    page.save(buffer, file_format)
    return buffer.getvalue()


def _docx() -> bytes:
    document = Document()
    document.add_heading("Opening hours", 1)
    for day in range(1, 40):
        document.add_paragraph(
            f"On day {day} of the schedule the archive opens at {7 + day % 3} in the morning."
        )
    buffer = io.BytesIO()
    document.save(buffer)
    return buffer.getvalue()


def _word_xml(body: bytes, declaration: bytes = b"") -> bytes:
    return (
        b'<?xml version="1.0" encoding="UTF-8" standalone="yes"?>'
        + declaration
        + f'<w:document xmlns:w="{WORD_NAMESPACE}"><w:body>'.encode()
        + body
        + b"</w:body></w:document>"
    )


def _read_part(data: bytes) -> bytes:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return archive.read(DOCX_MAIN_PART)


def _with_part(data: bytes, part: bytes) -> bytes:
    """The .docx with another main part."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            new.writestr(name, part if name == DOCX_MAIN_PART else old.read(name))
    return buffer.getvalue()
