"""Settings of the ingest service."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator

from radref.service.settings import DEFAULT_PORTS, ServiceSettings

MEBIBYTE = 1 << 20

# DESIGN section 6: seven thematic collections; the consult collection is searched by Consult only.
DEFAULT_TOPICS = (
    "safety",
    "physics",
    "regulatory",
    "anatomy",
    "reference-values",
    "glossary",
    "report-templates",
    "consult",
)


class OcrSettings(BaseModel):
    """Reading scans and photographs."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    engine: Literal["auto", "tesseract", "easyocr", "none"] = Field(
        default="auto", description="auto = EasyOCR where package and weights are there, else tesseract"
    )
    languages: tuple[str, ...] = Field(
        default=("rus", "eng"), min_length=1, description="as tesseract names them, e.g. rus, eng, deu"
    )
    easyocr_model_dir: str = Field(default="", description="folder of EasyOCR's weights; empty = none")
    min_confidence: float = Field(
        default=0.6, ge=0, le=1, description="pages below are named in a warning to the reviewer"
    )
    page_timeout_seconds: float = Field(default=90.0, gt=0, le=3600, description="one page, seconds")
    deepseek_url: str = Field(
        default="", description="OpenAI-compatible server of DeepSeek-OCR, with /v1; empty = off"
    )
    deepseek_model: str = Field(default="deepseek-ai/DeepSeek-OCR", description="name served there")
    deepseek_api_key: SecretStr = Field(default=SecretStr(""), description="its key; empty = none")
    deepseek_below: float = Field(
        default=0.0, ge=0, le=1, description="pages read with less confidence are sent there; 0 = off"
    )
    deepseek_timeout_seconds: float = Field(
        default=120.0, gt=0, le=3600, description="one page there, seconds"
    )


class DoclingSettings(BaseModel):
    """Reading with Docling (the extra `docling`); parser processes then need 12 GiB of address space."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    enabled: bool = Field(default=False, description="HTML, DOCX, PPTX, XLSX, CSV and PDF go to Docling")
    artifacts_dir: Path | None = Field(
        default=None,
        description="folder of its layout and table models; empty = PDF stays with our own parser",
    )
    ocr: bool = Field(default=True, description="EasyOCR reads PDF pages without text layer")
    easyocr_model_dir: Path | None = Field(default=None, description="folder of EasyOCR's weights")
    languages: tuple[str, ...] = Field(
        default=("rus", "eng"), min_length=1, description="languages of scans, e.g. rus, eng, deu"
    )
    timeout_seconds: float = Field(
        default=280.0, gt=0, le=3600, description="one PDF, seconds; below the limit of the parser process"
    )
    device: Literal["cpu", "cuda"] = Field(default="cpu", description="where its models run")
    threads: int = Field(default=2, ge=1, le=256, description="CPU threads of its models")


class ParsingSettings(BaseModel):
    """Limits of reading one file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    # One keeps an embedder on two cores busy; each costs about 100 MB.
    processes: int = Field(default=1, ge=1, le=64, description="parser processes")
    timeout_seconds: float = Field(default=300.0, gt=0, le=3600, description="wall time of one file, seconds")
    max_pages: int = Field(default=2000, ge=1, le=100_000, description="pages of a PDF")
    max_expanded_bytes: int = Field(
        default=256 * MEBIBYTE, ge=1, description="unpacked size of an archive format (docx), bytes"
    )
    max_expansion_ratio: float = Field(
        default=150.0, ge=1, le=10_000, description="unpacked / packed size of an archive format"
    )
    max_characters: int = Field(default=20_000_000, ge=1, description="text after parsing, characters")
    memory_bytes: int = Field(
        default=2048 * MEBIBYTE, ge=0, description="address space of a parser process, bytes; 0 = no limit"
    )
    ocr: OcrSettings = Field(default=OcrSettings(), description="reading scans and photographs")
    docling: DoclingSettings = Field(default=DoclingSettings(), description="reading with Docling")


class ChunkingSettings(BaseModel):
    """Sizes of parents and children (defaults: Paper A)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    parent_tokens: int = Field(default=1800, ge=32, le=100_000, description="tokens of a parent at most")
    child_tokens: int = Field(
        default=512, ge=32, le=100_000, description="tokens of a child at most, prefix and specials included"
    )
    child_characters: int = Field(
        default=900, ge=1, le=100_000, description="characters of a child at least, where its parent allows"
    )
    margin_tokens: int = Field(default=8, ge=0, le=1000, description="tokens kept free in every child")
    late_chunking: bool = Field(
        default=False,
        description="vectors of children from the token vectors of their whole parent (docs/parsing.md)",
    )
    pack_sections: bool = Field(default=True, description="join small neighbouring sections")
    heading_prefix: bool = Field(default=False, description="embed title and headings with each child")


class IngestSettings(ServiceSettings, section="ingest"):
    """Settings of the ingest service."""

    data_dir: Path = Field(
        default=Path(".radref/ingest"),
        description="folder of the registry and the uploaded files; one process owns it",
    )
    inference_target: str = Field(
        default=f"127.0.0.1:{DEFAULT_PORTS['inference']}", description="host:port of the inference service"
    )
    retrieval_target: str = Field(
        default=f"127.0.0.1:{DEFAULT_PORTS['retrieval']}", description="host:port of the retrieval service"
    )
    topics: tuple[str, ...] = Field(
        default=DEFAULT_TOPICS,
        min_length=1,
        description="topics of the site, as the retrieval service has them",
    )
    auto_approve: bool = Field(
        default=False, description="index uploads without review: only where every source is trusted"
    )
    max_upload_bytes: int = Field(
        default=64 * MEBIBYTE, ge=1, le=2048 * MEBIBYTE, description="size of a file, bytes"
    )
    workers: int = Field(default=4, ge=1, le=64, description="documents processed at once")
    # Two, so that the embedder never waits while the vectors of a batch are written down.
    embedding_documents: int = Field(default=2, ge=1, le=64, description="documents embedded at once")
    embed_batch: int = Field(default=16, ge=1, le=256, description="children a call of the embedding model")
    embed_timeout_seconds: float = Field(
        default=120.0, gt=0, le=3600, description="one batch of embeddings or one tokenisation, seconds"
    )
    stage_timeout_seconds: float = Field(
        default=300.0, gt=0, le=3600, description="writing one document to the index, seconds"
    )
    call_timeout_seconds: float = Field(
        default=30.0, gt=0, le=600, description="look-ups and version switches, seconds"
    )
    max_attempts: int = Field(
        default=10, ge=1, le=1000, description="attempts in a row without any progress before a job fails"
    )
    backoff_base_seconds: float = Field(default=1.0, gt=0, le=600, description="first back-off, seconds")
    backoff_cap_seconds: float = Field(default=60.0, gt=0, le=86_400, description="longest back-off, seconds")
    parsing: ParsingSettings = Field(default=ParsingSettings(), description="limits of reading one file")
    chunking: ChunkingSettings = Field(default=ChunkingSettings(), description="sizes of passages")

    @field_validator("topics")
    @classmethod
    def _topic_ids(cls, topics: tuple[str, ...]) -> tuple[str, ...]:
        if any(not 1 <= len(topic) <= 64 for topic in topics) or len(set(topics)) != len(topics):
            raise ValueError("topics are distinct ids of 1-64 characters")
        return topics
