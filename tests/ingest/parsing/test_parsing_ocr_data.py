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
from ingest_svc.parsing.ocr.model import OcrPage
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


@pytest.mark.parametrize("name", ["linn.png", "skew.pdf"])
def test_linn(name: str) -> None:
    # The expected text is OCR output itself and has every bullet as a lone "0" at the start of its line.
    expected = words(re.sub(r"(?m)^0 ", "", (DATA / "ocrmypdf/linn.txt").read_text("utf-8")))
    found = words(text_of(read(f"ocrmypdf/{name}")))
    assert sum((expected & found).values()) >= 0.97 * sum(expected.values())
    assert sum((expected & found).values()) >= 0.97 * sum(found.values())


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
    plan = text_of(read("markitdown/MEDRPT-2024-PAT-3847_medical_report_scan.pdf", 2))
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
    for row in (
        "| Blind | 5 | 1 | 4 | 34.5%, n=1 | 1199 sec, n=1 |",
        "| Dexterity | 5 | 4 | 1 | 98.3%, n=4 | 1672.1 sec, n=4 |",
        "| Mobility | 3 | 3 | 0 | 95.4%, n=3 | 1416 sec, n=3 |",
    ):
        assert row in page.blocks[0].text
