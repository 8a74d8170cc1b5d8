"""What is missing is said at start, not when the first document comes."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ingest_svc.parsing.docling.artifacts import LAYOUT_FOLDER, TABLE_FOLDER, check_docling
from ingest_svc.parsing.docling.converter import parse_with_docling
from ingest_svc.parsing.docling.options import DoclingOptions
from ingest_svc.parsing.file_format import FileFormat
from ingest_svc.parsing.limits import ParseLimits
from radref.errors import Unavailable
from tests.ingest.parsing.conftest import build_pdf

PDF = build_pdf([[(72, 700, 11, False, "One line.")]])


def test_without_artifacts_only_formats_without_models_are_read() -> None:
    options = DoclingOptions()
    check_docling(options)
    assert options.formats() == {
        FileFormat.HTML,
        FileFormat.DOCX,
        FileFormat.PPTX,
        FileFormat.XLSX,
        FileFormat.CSV,
    }


def test_complete_artifacts(artifacts: Path) -> None:
    options = DoclingOptions(artifacts_dir=artifacts, ocr=False)
    check_docling(options)
    assert FileFormat.PDF in options.formats()


@pytest.mark.parametrize(
    "lacking",
    [
        LAYOUT_FOLDER / "model.safetensors",
        LAYOUT_FOLDER / "config.json",
        LAYOUT_FOLDER / "preprocessor_config.json",
        TABLE_FOLDER / "tm_config.json",
        TABLE_FOLDER / "tableformer_accurate.safetensors",
    ],
)
def test_each_missing_file_is_named(artifacts: Path, tmp_path: Path, lacking: Path) -> None:
    folder = _linked(artifacts, tmp_path / "artifacts")
    (folder / lacking).unlink()
    with pytest.raises(Unavailable, match=lacking.as_posix()) as caught:
        check_docling(DoclingOptions(artifacts_dir=folder, ocr=False))
    assert str(folder) in str(caught.value)
    assert caught.value.reason == "BACKEND_UNAVAILABLE"


def test_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match=r"nowhere lacks .*config\.json"):
        check_docling(DoclingOptions(artifacts_dir=tmp_path / "nowhere", ocr=False))


@pytest.mark.parametrize(
    ("languages", "weights"),
    [(("rus", "eng"), "cyrillic_g2.pth"), (("eng",), "english_g2.pth"), (("deu", "eng"), "latin_g2.pth")],
)
def test_missing_ocr_models_are_named(
    artifacts: Path, tmp_path: Path, languages: tuple[str, ...], weights: str
) -> None:
    options = DoclingOptions(artifacts_dir=artifacts, easyocr_model_dir=tmp_path, languages=languages)
    with pytest.raises(Unavailable, match=rf"craft_mlt_25k\.pth, {weights}"):
        check_docling(options)


def test_ocr_without_a_folder_or_with_an_unknown_language(artifacts: Path, tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="no folder"):
        check_docling(DoclingOptions(artifacts_dir=artifacts))
    with pytest.raises(Unavailable, match="tlh"):
        check_docling(DoclingOptions(artifacts_dir=artifacts, easyocr_model_dir=tmp_path, languages=("tlh",)))


def test_damaged_weights_are_no_fault_of_the_document(artifacts: Path, tmp_path: Path) -> None:
    folder = _linked(artifacts, tmp_path / "artifacts")
    weights = folder / LAYOUT_FOLDER / "model.safetensors"
    weights.unlink()
    weights.write_bytes(b"damaged")
    with pytest.raises(Unavailable, match="do not load"):
        parse_with_docling(
            PDF, FileFormat.PDF, DoclingOptions(artifacts_dir=folder, ocr=False), ParseLimits()
        )


@pytest.mark.parametrize("field", [{"timeout_seconds": 0.0}, {"threads": 0}])
def test_options_out_of_range(field: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(field))):
        DoclingOptions(**field)  # type: ignore[arg-type]


def _linked(source: Path, target: Path) -> Path:
    shutil.copytree(source, target, copy_function=lambda a, b: Path(b).symlink_to(a))
    return target
