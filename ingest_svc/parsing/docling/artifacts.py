"""What has to lie on disk before Docling is used; looked for at start, without loading torch."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from ingest_svc.parsing.docling.options import DoclingOptions
from ingest_svc.parsing.ocr import easyocr_weights
from radref.errors import Unavailable

# Where docling 2.143 looks for them below the artifacts folder (`docling-tools models download` writes them).
LAYOUT_FOLDER = Path("docling-project--docling-layout-heron")
TABLE_FOLDER = Path("docling-project--docling-models/model_artifacts/tableformer/accurate")
_LAYOUT_FILES = ("config.json", "preprocessor_config.json", "model.safetensors")
_TABLE_FILES = ("tm_config.json", "tableformer_accurate.safetensors")


def check_docling(options: DoclingOptions) -> None:
    """Looks for the packages and every file that the options need.

    Raises:
        Unavailable: BACKEND_UNAVAILABLE; the message names what is missing and where it is expected.
    """
    _check_package("docling", "the extra `docling`")
    if options.artifacts_dir is None:
        return
    wanted = [LAYOUT_FOLDER / name for name in _LAYOUT_FILES] + [TABLE_FOLDER / name for name in _TABLE_FILES]
    _check_files("Docling's models", options.artifacts_dir, wanted)
    if options.ocr:
        _check_package("easyocr", "the extra `docling`")
        if options.easyocr_model_dir is None:
            raise Unavailable("Docling is set to read scans, but no folder with EasyOCR's models is named.")
        _check_files("EasyOCR's models", options.easyocr_model_dir, easyocr_files(options.languages))


def easyocr_codes(languages: tuple[str, ...]) -> list[str]:
    """EasyOCR's names of the languages.

    Raises:
        Unavailable: BACKEND_UNAVAILABLE for a language that is not set up, or none at all.
    """
    unknown = easyocr_weights.unknown_languages(languages)
    if unknown or not languages:
        raise Unavailable(f"EasyOCR is not set up for the languages {', '.join(unknown) or '(none named)'}.")
    return easyocr_weights.codes(languages)


def easyocr_files(languages: tuple[str, ...]) -> list[Path]:
    """Names of the weights that EasyOCR needs for the languages.

    Raises:
        Unavailable: as `easyocr_codes`.
    """
    easyocr_codes(languages)
    return [Path(name) for name in easyocr_weights.files(languages)]


def _check_package(name: str, where: str) -> None:
    if importlib.util.find_spec(name) is None:
        raise Unavailable(f"The package {name} is not installed; it comes with {where}.")


def _check_files(what: str, folder: Path, wanted: list[Path]) -> None:
    missing = [path.as_posix() for path in wanted if not (folder / path).is_file()]
    if missing:
        raise Unavailable(f"{what} are not complete: {folder} lacks {', '.join(missing)}.")
