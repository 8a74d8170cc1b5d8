"""Which engine reads images in this installation."""

from __future__ import annotations

from dataclasses import dataclass

from ingest_svc.parsing.ocr.deepseek import DeepSeekOcr
from ingest_svc.parsing.ocr.easy_ocr import find_easyocr
from ingest_svc.parsing.ocr.engine import OcrEngine
from ingest_svc.parsing.ocr.options import OcrOptions
from ingest_svc.parsing.ocr.page_reader import PageReader
from ingest_svc.parsing.ocr.tesseract import find_tesseract


@dataclass(frozen=True, slots=True)
class OcrChoice:
    """The reader, or None and the reason why there is none.

    Attributes:
        reason: sentences for users and logs: what is missing; also where "auto" took the second choice.
    """

    reader: PageReader | None
    reason: str = ""


def choose_reader(options: OcrOptions) -> OcrChoice:
    """Looks for what is installed; takes about 0.1 s, so once a process is enough."""
    engine, reason = _engine(options)
    if engine is None:
        return OcrChoice(None, reason)
    second = None
    if options.deepseek_url and options.deepseek_below > 0:
        second = DeepSeekOcr(
            options.deepseek_url,
            options.deepseek_model,
            options.deepseek_timeout_seconds,
            options.deepseek_api_key,
        )
    reader = PageReader(
        engine,
        min_confidence=options.min_confidence,
        page_timeout_seconds=options.page_timeout_seconds,
        second=second,
        second_below=options.deepseek_below,
    )
    return OcrChoice(reader, reason)


def _engine(options: OcrOptions) -> tuple[OcrEngine | None, str]:
    if options.engine == "none":
        return None, "OCR is switched off in the settings."
    reasons: list[str] = []
    if options.engine in {"auto", "easyocr"}:
        easy, reason = find_easyocr(options.languages, options.easyocr_model_dir)
        if easy is not None:
            return easy, ""
        reasons.append(reason)
    if options.engine in {"auto", "tesseract"}:
        tesseract, reason = find_tesseract(options.languages)
        if tesseract is not None:
            return tesseract, " ".join(reasons)
        reasons.append(reason)
    if len(reasons) > 1:
        reasons.insert(0, "One of two OCR engines has to be installed.")
    return None, " ".join(reasons)
