"""How page images are read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

EngineName = Literal["auto", "tesseract", "easyocr", "none"]


@dataclass(frozen=True, slots=True)
class OcrOptions:
    """Plain values; the settings of the service are mapped onto them.

    Attributes:
        engine: "auto" takes EasyOCR where package and weights are there, else tesseract; "none" reads none.
        languages: what documents are written in, as tesseract names them (ISO 639-2: "rus", "eng", "deu").
        easyocr_model_dir: folder with EasyOCR's weights; "" = none. Nothing is ever downloaded.
        min_confidence: pages below are named in a warning, 0 to 1.
        page_timeout_seconds: wall time for reading one page by the first engine, all tries together, above 0.
        deepseek_url: base URL of an OpenAI-compatible server up to and with /v1; "" = off.
        deepseek_model: name under which that server serves DeepSeek-OCR.
        deepseek_below: pages with less confidence are sent there, 0 to 1; 0 = off.
        deepseek_timeout_seconds: wall time for one page there, above 0.
        deepseek_api_key: bearer token for that server, "" = none.
    """

    engine: EngineName = "auto"
    languages: tuple[str, ...] = ("rus", "eng")
    easyocr_model_dir: str = ""
    min_confidence: float = 0.6
    page_timeout_seconds: float = 180.0
    deepseek_url: str = ""
    deepseek_model: str = "deepseek-ai/DeepSeek-OCR"
    deepseek_below: float = 0.0
    deepseek_timeout_seconds: float = 120.0
    deepseek_api_key: str = ""
