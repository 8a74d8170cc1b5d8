"""Scans of public parser test suites, read where they lie."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from pathlib import Path

import pypdfium2
import pytest
from PIL import Image

from ingest_svc.document import BlockKind, render
from ingest_svc.parsing.ocr.deskew import skew
from ingest_svc.parsing.ocr.model import OcrPage
from ingest_svc.parsing.ocr.pixels import grey
from tests.ingest.parsing.ocr_test_pages import needs_tesseract, reader

DATA = Path(__file__).resolve().parents[4] / "shared" / "data" / "parsers"
pytestmark = [
    pytest.mark.data,
    needs_tesseract,
    pytest.mark.skipif(not DATA.is_dir(), reason="the shared data folder is not beside the checkout"),
]


def read(name: str, page: int = 0) -> OcrPage:
    path = DATA / name
    if path.suffix != ".pdf":
        with Image.open(path) as image:
            return reader().read(image, 1)
    document = pypdfium2.PdfDocument(path)
    try:
        return reader().read(document[page].render(scale=300 / 72).to_pil(), page + 1)
    finally:
        document.close()


def text_of(page: OcrPage) -> str:
    return render(page.blocks)[0]


def words(text: str) -> Counter[str]:
    return Counter(re.findall(r"[^\W_]+", unicodedata.normalize("NFKC", text).lower()))


def linn_words() -> Counter[str]:
    # The expected text is OCR output itself and has every bullet as a lone "0" at the start of its line.
    return words(re.sub(r"(?m)^0 ", "", (DATA / "ocrmypdf/linn.txt").read_text("utf-8")))


def test_linn() -> None:
    page = read("ocrmypdf/linn.png")
    expected, found = linn_words(), words(text_of(page))
    assert sum((expected & found).values()) >= 0.97 * sum(expected.values())
    assert sum((expected & found).values()) >= 0.97 * sum(found.values())
    blocks = [block.text for block in page.blocks]
    # At the foot of the left column, it heads what stands below both.
    head = blocks.index("### Additional Features")
    assert blocks[head + 1].startswith("- Simple, easy to learn operation")
    assert any("within a sequence, simply use LOCATE" in text for text in blocks)


def test_skewed_scan() -> None:
    document = pypdfium2.PdfDocument(DATA / "ocrmypdf/skew.pdf")
    image = document[0].render(scale=300 / 72).to_pil()
    document.close()
    assert abs(skew(grey(image))) > 1
    found = words(text_of(reader().read(image.crop((0, 0, image.width, image.height // 3)), 1)))
    assert sum(found.values()) > 80
    assert sum((linn_words() & found).values()) >= 0.97 * sum(found.values())


@pytest.mark.parametrize("name", ["ocr_test.pdf", "ocr_test_rotated_90.pdf"])
def test_turned_page(name: str) -> None:
    expected = (
        "Docling bundles PDF document conversion to JSON and Markdown in an easy self contained package"
    )
    assert text_of(read(f"docling/ocr/{name}")) == expected


def test_blank() -> None:
    assert read("ocrmypdf/blank.pdf").blocks == ()


def test_glyphs_without_mapping() -> None:
    assert text_of(read("ocrmypdf/truetype_font_nomapping.pdf")) == "Phone"


def test_medical_report() -> None:
    """No word may be passed over, and the laboratory table keeps its cells."""
    document = pypdfium2.PdfDocument(DATA / "markitdown/MEDRPT-2024-PAT-3847_medical_report_scan.pdf")
    image = document[2].render(scale=300 / 72).to_pil()
    document.close()
    plan = text_of(reader().read(image.crop((0, 0, image.width, image.height // 3)), 3))
    assert "- Refer to Neurology for headache evaluation if symptoms persist" in plan
    assert "- Increase Lisinopril from 10mg to 20mg once daily" in plan
    findings = read("markitdown/MEDRPT-2024-PAT-3847_medical_report_scan.pdf", 1)
    (table,) = [block.text for block in findings.blocks if block.kind is BlockKind.TABLE]
    assert table.startswith("| Test | Result | Reference Range | Flag |\n")
    assert "| LDL Cholesterol | 142 mg/dL | <100 mg/dL | HIGH |" in table
    assert "| Creatinine | 1.1 mg/dL | 0.7-1.3 mg/dL |  |" in table


def test_table_of_a_scan() -> None:
    page = read("unstructured/table-multi-row-column-cells.pdf")
    assert [block.kind for block in page.blocks] == [BlockKind.TABLE]
    # Cells of the header stand at different heights on a coloured ground.
    for row in (
        "| Disability Category | Participants | Ballots Completed | Ballots Incomplete/Terminated |",
        "| Accuracy | Time to complete |",
        "| Blind | 5 | 1 | 4 | 34.5%, n=1 | 1199 sec, n=1 |",
        "| Dexterity | 5 | 4 | 1 | 98.3%, n=4 | 1672.1 sec, n=4 |",
        "| Mobility | 3 | 3 | 0 | 95.4%, n=3 | 1416 sec, n=3 |",
    ):
        assert row in page.blocks[0].text
