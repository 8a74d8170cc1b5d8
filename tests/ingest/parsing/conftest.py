"""Files that the parser tests make themselves."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import Any

import docx
import pytest

from ingest_svc.parsing.limits import ParseLimits

Text = tuple[float, float, float, bool, str]  # x, y from the bottom, size, bold, text
Line = tuple[float, float, float, float]  # x0, y0, x1, y1
PdfMaker = Callable[..., bytes]


@pytest.fixture
def limits() -> ParseLimits:
    return ParseLimits()


@pytest.fixture
def make_pdf() -> PdfMaker:
    return build_pdf


@pytest.fixture
def docx_bytes() -> Callable[[Any], bytes]:
    return save_docx


def save_docx(document: Any) -> bytes:
    buffer = io.BytesIO()
    document.save(buffer)
    return buffer.getvalue()


@pytest.fixture
def new_docx() -> Callable[[], Any]:
    return docx.Document


def build_pdf(pages: Sequence[Sequence[Text]], rules: Sequence[Sequence[Line]] = ()) -> bytes:
    """A PDF 1.4 with Helvetica text at given places and stroked lines; page size 612 x 792 points."""
    objects: list[bytes] = [b"", b""]  # catalog and page tree are filled in at the end
    fonts = []
    for name in (b"Helvetica", b"Helvetica-Bold"):
        objects.append(
            b"<< /Type /Font /Subtype /Type1 /BaseFont /" + name + b" /Encoding /WinAnsiEncoding >>"
        )
        fonts.append(len(objects))
    kids: list[int] = []
    for at, texts in enumerate(pages):
        stream = b""
        for x, y, size, bold, text in texts:
            escaped = text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)").encode("cp1252")
            font = b"F2" if bold else b"F1"
            stream += b"BT /%s %g Tf %g %g Td (%s) Tj ET\n" % (font, size, x, y, escaped)
        for x0, y0, x1, y1 in rules[at] if at < len(rules) else ():
            stream += b"%g %g m %g %g l S\n" % (x0, y0, x1, y1)
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream))
        content = len(objects)
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R "
            b"/Resources << /Font << /F1 %d 0 R /F2 %d 0 R >> >> >>" % (content, fonts[0], fonts[1])
        )
        kids.append(len(objects))
    objects[0] = b"<< /Type /Catalog /Pages 2 0 R >>"
    refs = b" ".join(b"%d 0 R" % kid for kid in kids)
    objects[1] = b"<< /Type /Pages /Kids [%s] /Count %d >>" % (refs, len(kids))
    out = b"%PDF-1.4\n"
    offsets: list[int] = []
    for number, body in enumerate(objects, start=1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    out += b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, start)
    return out
