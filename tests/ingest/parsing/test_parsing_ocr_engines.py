"""Choosing an engine, tesseract's faults, and EasyOCR's adapter with a stand-in for its reader."""

from __future__ import annotations

import sys
import types
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from ingest_svc.document import BlockKind
from ingest_svc.parsing.ocr.best_of_two import best_of_two
from ingest_svc.parsing.ocr.choose import choose_reader
from ingest_svc.parsing.ocr.easy_ocr import EasyOcrEngine, find_easyocr
from ingest_svc.parsing.ocr.engine import Line, Word, confidence
from ingest_svc.parsing.ocr.options import OcrOptions
from ingest_svc.parsing.ocr.page_reader import PageReader
from ingest_svc.parsing.ocr.tesseract import TesseractEngine, find_tesseract, lines_of_tsv
from radref.errors import DeadlineExceeded, Internal
from tests.ingest.parsing.ocr_test_pages import ENGLISH, needs_tesseract, prose

PAGE = Image.new("L", (400, 200), 255)
PAGE.paste(0, (50, 50, 80, 80))


def test_switched_off() -> None:
    choice = choose_reader(OcrOptions(engine="none"))
    assert choice.reader is None
    assert choice.reason == "OCR is switched off in the settings."


def test_tesseract_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    choice = choose_reader(OcrOptions(engine="tesseract"))
    assert choice.reader is None
    assert choice.reason == (
        "The program tesseract is not installed "
        "(Debian: tesseract-ocr, tesseract-ocr-rus, tesseract-ocr-eng)."
    )


@needs_tesseract
def test_language_is_missing() -> None:
    engine, reason = find_tesseract(("eng", "tlh"))
    assert engine is None
    assert reason == "Tesseract lacks the language data tlh (Debian: tesseract-ocr-tlh)."


@needs_tesseract
@pytest.mark.skipif("easyocr" in sys.modules, reason="EasyOCR is installed")
def test_auto_falls_back_and_says_why() -> None:
    choice = choose_reader(OcrOptions(engine="auto", easyocr_model_dir=""))
    assert choice.reader is not None
    assert choice.reader.name == "tesseract"
    assert "easyocr" in choice.reason.lower()


def program(folder: Path, script: str) -> TesseractEngine:
    path = folder / "tesseract"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return TesseractEngine(str(path), ("eng",))


@pytest.mark.parametrize(
    "script", ["cat >/dev/null; exit 1", "exit 3", "kill -9 $$", "exec 0<&-; kill -SEGV $$"]
)
def test_failing_program(tmp_path: Path, script: str) -> None:
    engine = program(tmp_path, script)
    with pytest.raises(Internal) as caught:
        engine.read(PAGE, 20.0)
    assert caught.value.reason == "PARSER_CRASHED"
    assert engine.orientation(PAGE, 20.0) is None
    result = PageReader(engine, min_confidence=0.6, page_timeout_seconds=20.0).read(PAGE, 5)
    assert (result.blocks, result.failure, result.unsure) == ((), "PARSER_CRASHED", True)
    assert result.note == "Page 5 was not read: the OCR engine failed on it."


def test_vanished_program(tmp_path: Path) -> None:
    with pytest.raises(Internal):
        TesseractEngine(str(tmp_path / "gone"), ("eng",)).read(PAGE, 5.0)


def test_hanging_program_is_ended(tmp_path: Path) -> None:
    engine = program(tmp_path, f"echo $$ >{tmp_path}/pid; exec sleep 600")
    with pytest.raises(DeadlineExceeded) as caught:
        engine.read(PAGE, 0.5)
    assert caught.value.reason == "PARSE_TIMEOUT"
    pid = int((tmp_path / "pid").read_text())
    assert not Path(f"/proc/{pid}").exists()
    result = PageReader(engine, min_confidence=0.6, page_timeout_seconds=0.5).read(PAGE, 2)
    assert result.failure == "PARSE_TIMEOUT"
    assert "took longer" in result.note


def test_tsv() -> None:
    head = "level\tpage_num\tblock_num\tpar_num\tline_num\tword_num\tleft\ttop\twidth\theight\tconf\ttext"
    rows = [
        "1\t1\t0\t0\t0\t0\t0\t0\t900\t900\t-1\t",
        "4\t1\t1\t1\t1\t0\t10\t10\t100\t20\t-1\t",
        "5\t1\t1\t1\t1\t1\t10\t10\t40\t20\t96.5\tДоза",
        '5\t1\t1\t1\t1\t2\t60\t10\t50\t20\t50\t"5',
        "5\t1\t1\t1\t1\t3\t120\t10\t5\t20\t95\t ",
        "5\t1\t2\t1\t1\t1\t10\t90\t40\t20\t0\tmSv",
    ]
    lines = lines_of_tsv("\n".join([head, *rows]))
    assert [line.text for line in lines] == ['Доза "5', "mSv"]
    assert [(line.block, line.paragraph) for line in lines] == [(1, 0), (2, 1)]
    assert lines[0].words[0].confidence == pytest.approx(0.965)
    # Weighted by letters: four of 0.965, one of 0.5, three of 0.
    assert confidence(lines) == pytest.approx((4 * 0.965 + 0.5) / 8)
    assert lines_of_tsv(head) == ()


class StandInReader:
    """Answers like easyocr.Reader.readtext: boxes, texts and confidences, in no order of columns."""

    def __init__(self, found: Sequence[tuple[Any, str, float]]) -> None:
        self.found = found
        self.shapes: list[tuple[int, ...]] = []

    def readtext(self, image: Any, *, detail: int, paragraph: bool) -> Sequence[tuple[Any, str, float]]:
        assert (detail, paragraph) == (1, False)
        self.shapes.append(np.asarray(image).shape)
        return self.found


def piece(left: int, top: int, text: str, confidence: float = 0.9) -> tuple[Any, str, float]:
    right, bottom = left + 20 * len(text), top + 44
    return [[left, top], [right, top], [right, bottom], [left, bottom]], text, confidence


def test_easyocr_lines_and_words() -> None:
    stand_in = StandInReader(
        [piece(50, 100, "The dose limit"), piece(400, 103, "is one mSv"), piece(50, 170, "a year.")]
    )
    lines = EasyOcrEngine(stand_in).read(Image.new("L", (1200, 800), 255), 5.0)
    assert [line.text for line in lines] == ["The dose limit is one mSv", "a year."]
    assert stand_in.shapes == [(800, 1200)]
    first = lines[0].words[0]
    assert (first.text, first.left, first.right) == ("The", 50, 110)


def test_easyocr_columns() -> None:
    left = ["the left column of text", "goes on in this second", "line and ends in a third"]
    right = ["beside it stands another", "with lines of its own that", "are read after the first"]
    found = [piece(40, 40, "A title over both of the columns of this page and more")]
    for at in range(3):
        found += [piece(40, 140 + at * 60, left[at]), piece(700, 143 + at * 60, right[at])]
    lines = EasyOcrEngine(StandInReader(found)).read(Image.new("L", (1400, 800), 255), 5.0)
    assert [line.text for line in lines[1:]] == [*left, *right]


def test_easyocr_rows_of_a_table_stay_rows() -> None:
    cells = [("Organ", "Dose"), ("Chest", "0.1"), ("Pelvis", "0.7"), ("Skull", "0.03")]
    found = [piece(x, 100 + at * 70, text) for at, row in enumerate(cells)
             for x, text in zip((60, 600), row, strict=True)]  # fmt: skip
    reader = PageReader(EasyOcrEngine(StandInReader(found)), min_confidence=0.6, page_timeout_seconds=5.0)
    image = Image.new("L", (1200, 800), 255)
    image.paste(0, (60, 100, 90, 130))
    result = reader.read(image, 1)
    assert [block.kind for block in result.blocks] == [BlockKind.TABLE]
    assert result.blocks[0].text.splitlines()[2:] == [
        "| Chest | 0.1 |",
        "| Pelvis | 0.7 |",
        "| Skull | 0.03 |",
    ]
    assert (result.engine, result.confidence) == ("easyocr", pytest.approx(0.9))


def test_easyocr_failure() -> None:
    class Broken:
        def readtext(self, image: Any, *, detail: int, paragraph: bool) -> Sequence[tuple[Any, str, float]]:
            raise RuntimeError("text of the page")

    with pytest.raises(Internal) as caught:
        EasyOcrEngine(Broken()).read(PAGE, 5.0)
    assert caught.value.reason == "PARSER_CRASHED"
    assert "text of the page" not in caught.value.message


@pytest.fixture
def easyocr_package(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A package named easyocr that notes how its Reader is made."""
    made: dict[str, Any] = {}

    def new_reader(codes: list[str], **options: Any) -> StandInReader:
        made.update(codes=codes, **options)
        return StandInReader([])

    package = types.ModuleType("easyocr")
    package.__spec__ = types.SimpleNamespace(name="easyocr")  # type: ignore[assignment]
    package.Reader = new_reader  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "easyocr", package)
    return made


def test_easyocr_needs_its_weights(easyocr_package: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "craft_mlt_25k.pth").write_bytes(b"weights")
    engine, reason = find_easyocr(("rus", "eng"), str(tmp_path))
    assert engine is None
    assert reason == "EasyOCR's model folder lacks cyrillic_g2.pth."
    assert find_easyocr(("rus", "eng"), "")[0] is None
    assert find_easyocr(("rus", "tlh"), str(tmp_path))[1] == "EasyOCR is not set up for the languages tlh."
    assert easyocr_package == {}


def test_easyocr_never_downloads(easyocr_package: dict[str, Any], tmp_path: Path) -> None:
    for name in ("craft_mlt_25k.pth", "cyrillic_g2.pth"):
        (tmp_path / name).write_bytes(b"weights")
    choice = choose_reader(OcrOptions(easyocr_model_dir=str(tmp_path)))
    assert choice.reader is not None
    assert choice.reader.name == "easyocr"
    assert easyocr_package["codes"] == ["ru", "en"]
    assert easyocr_package["download_enabled"] is False
    assert easyocr_package["model_storage_directory"] == str(tmp_path)


@needs_tesseract
def test_unreadable_page_costs_no_document() -> None:
    """The timeout of one page is the page's own: the next one is read."""
    engine, _ = find_tesseract(("rus", "eng"))
    assert engine is not None
    late = PageReader(engine, min_confidence=0.6, page_timeout_seconds=0.001).read(prose(ENGLISH), 1)
    assert late.failure == "PARSE_TIMEOUT"
    assert PageReader(engine, min_confidence=0.6, page_timeout_seconds=90.0).read(prose(ENGLISH), 2).blocks


def test_best_of_two_sizes() -> None:
    small = [
        Word("215", 100, 50, 130, 62, 0.9),
        Word("mg/dL", 140, 50, 190, 64, 0.95),
        Word("HIGH", 300, 50, 340, 62, 0.5),
    ]
    large = [
        Word("215", 200, 100, 260, 124, 0.95),
        Word("mold", 281, 101, 379, 128, 0.6),
        Word("flag", 500, 100, 560, 124, 0.3),
    ]
    (line,) = best_of_two([Line(tuple(large), 0, 0)], [Line(tuple(small), 0, 0)], 2.0)
    assert [(word.text, word.confidence) for word in line.words] == [
        ("215", 0.95),
        ("mg/dL", 0.95),
        ("flag", 0.3),
    ]
    assert (line.words[1].left, line.words[1].right) == (281, 379)
