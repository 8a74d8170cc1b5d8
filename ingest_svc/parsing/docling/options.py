"""How Docling is run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ingest_svc.parsing.file_format import FileFormat

# These need no model.
_WITHOUT_MODELS = frozenset(
    {FileFormat.HTML, FileFormat.DOCX, FileFormat.PPTX, FileFormat.XLSX, FileFormat.CSV}
)


@dataclass(frozen=True, slots=True)
class DoclingOptions:
    """Plain values; the settings of the service are mapped onto them.

    Attributes:
        artifacts_dir: folder with the weights of the layout and table models; None: PDF is not read by this
            route. Nothing is ever downloaded.
        ocr: pages of a PDF without text layer are read by EasyOCR.
        easyocr_model_dir: folder with EasyOCR's weights; needed where `ocr` is on and `artifacts_dir` is set.
        languages: what scans are written in (ISO 639-2: "rus", "eng", "deu").
        timeout_seconds: wall time after which the PDF pipeline gives up, above 0; below the limit of the
            worker process, so that the reason is told before the process is killed.
        device: where the models run.
        threads: CPU threads of the models, 1 or more.
    """

    artifacts_dir: Path | None = None
    ocr: bool = True
    easyocr_model_dir: Path | None = None
    languages: tuple[str, ...] = ("rus", "eng")
    timeout_seconds: float = 110.0
    device: Literal["cpu", "cuda"] = "cpu"
    threads: int = 2

    def __post_init__(self) -> None:
        """Raises ValueError for values out of range."""
        if self.timeout_seconds <= 0:
            raise ValueError("timeout_seconds must be above 0")
        if self.threads < 1:
            raise ValueError("threads must be at least 1")

    def formats(self) -> frozenset[FileFormat]:
        """What this route reads."""
        return _WITHOUT_MODELS if self.artifacts_dir is None else _WITHOUT_MODELS | {FileFormat.PDF}
