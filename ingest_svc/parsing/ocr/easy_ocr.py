"""EasyOCR, where its package and weights are installed (Apache-2.0; tested against 1.7.2's interface)."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any, Protocol

import numpy as np
from PIL.Image import Image

from ingest_svc.parsing.ocr import easyocr_weights
from ingest_svc.parsing.ocr.engine import Line, Orientation, Word
from ingest_svc.parsing.ocr.xy_cut import lines_in_order
from radref.errors import Internal


class TextReader(Protocol):
    """The part of easyocr.Reader that is used."""

    def readtext(self, image: Any, *, detail: int, paragraph: bool) -> Sequence[tuple[Any, str, float]]:
        """Boxes of four (x, y) corners from the top left clockwise, their text and confidence 0 to 1."""
        ...


class EasyOcrEngine:
    """EasyOCR as an engine.

    It runs inside the parser process and cannot be interrupted: the wall-time limit of the worker ends it.

    Args:
        reader: an easyocr.Reader.
    """

    def __init__(self, reader: TextReader) -> None:
        self._reader = reader

    @property
    def name(self) -> str:
        return "easyocr"

    def orientation(self, image: Image, timeout: float) -> Orientation | None:
        """None: EasyOCR has no detector for it, so the caller compares."""
        return None

    def read(self, image: Image, timeout: float) -> tuple[Line, ...]:
        """Lines in reading order, by an XY cut of the pieces EasyOCR finds."""
        try:
            found = self._reader.readtext(np.asarray(image), detail=1, paragraph=False)
        except (RuntimeError, ValueError, TypeError, IndexError, ZeroDivisionError) as exc:
            raise Internal("The OCR engine failed on a page image.", reason="PARSER_CRASHED") from exc
        pieces = [_words(box, text, float(sure)) for box, text, sure in found if text.strip()]
        if not pieces:
            return ()
        size = float(median(piece[0].bottom - piece[0].top for piece in pieces))
        return lines_in_order(pieces, size)

    def read_stack(self, image: Image, timeout: float) -> tuple[Line, ...]:
        """As any image."""
        return self.read(image, timeout)


def find_easyocr(languages: tuple[str, ...], model_dir: str) -> tuple[EasyOcrEngine | None, str]:
    """The engine, or None and a sentence that says what is missing. Nothing is downloaded."""
    if importlib.util.find_spec("easyocr") is None:
        return None, "The package easyocr is not installed."
    unknown = easyocr_weights.unknown_languages(languages)
    if unknown:
        return None, f"EasyOCR is not set up for the languages {', '.join(unknown)}."
    wanted = easyocr_weights.files(languages)
    missing = [name for name in wanted if not model_dir or not (Path(model_dir) / name).is_file()]
    if missing:
        return None, f"EasyOCR's model folder lacks {', '.join(missing)}."
    try:
        # Here and not above: it loads torch, which takes seconds and gigabytes.
        easyocr = importlib.import_module("easyocr")
        reader = easyocr.Reader(
            easyocr_weights.codes(languages),
            gpu=False,
            model_storage_directory=model_dir,
            download_enabled=False,
            verbose=False,
        )
    except (ImportError, OSError, ValueError, RuntimeError, KeyError) as exc:
        return None, f"EasyOCR does not start ({type(exc).__name__})."
    return EasyOcrEngine(reader), ""


def _words(box: Any, text: str, confidence: float) -> tuple[Word, ...]:
    """The words of a piece of text; each gets its share of the box by characters."""
    xs = [float(point[0]) for point in box]
    ys = [float(point[1]) for point in box]
    left, right, top, bottom = min(xs), max(xs), round(min(ys)), round(max(ys))
    step = (right - left) / len(text)
    words: list[Word] = []
    at = 0
    for part in text.split():
        at = text.index(part, at)
        start, end = left + at * step, left + (at + len(part)) * step
        words.append(Word(part, round(start), top, round(end), bottom, min(1.0, max(0.0, confidence))))
        at += len(part)
    return tuple(words)
