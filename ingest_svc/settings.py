"""Settings of the ingest service."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator, model_validator

from ingest_svc.registry.database_url import parse_database_url
from radref.service.settings import DEFAULT_PORTS, UserFacingSettings

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
    page_timeout_seconds: float = Field(default=180.0, gt=0, le=3600, description="one page, seconds")
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
    timeout_seconds: float = Field(
        default=300.0,
        gt=0,
        le=3600,
        description="wall time of one file, seconds; reading scanned pages does not count",
    )
    max_timeout_seconds: float = Field(
        default=7200.0,
        gt=0,
        le=86_400,
        description="wall time of one file with all its scanned pages, seconds",
    )
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


class RegistrySettings(BaseModel):
    """The database of documents, versions, jobs and audit trail."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    url: SecretStr = Field(
        default=SecretStr(""), description="postgresql://user:password@host/name; empty = SQLite in data_dir"
    )
    readers: int = Field(default=4, ge=1, le=64, description="threads and connections for reads")
    lock_timeout_seconds: float = Field(
        default=10.0, ge=0.01, le=600, description="wait for other processes' writes, seconds"
    )
    document_lock_seconds: float = Field(
        default=60.0, ge=0.1, le=3600, description="wait for a document another worker is at, seconds"
    )

    @field_validator("url")
    @classmethod
    def _known_database(cls, url: SecretStr) -> SecretStr:
        if url.get_secret_value():
            parse_database_url(url.get_secret_value())
        return url


class FunctionalCheckSettings(BaseModel):
    """The site's questions that a version must answer before it goes live (docs/knowledge-base.md)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    questions: Path | None = Field(default=None, description="file, JSON Lines; empty = no check")
    top: int = Field(default=13, ge=1, le=1000, description="passages among which a document must be found")


class ReconcileSettings(BaseModel):
    """Comparing registry and index by itself."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    interval_seconds: float = Field(default=3600.0, ge=10, le=604_800, description="between two comparisons")
    repair: bool = Field(default=True, description="mend what differs; else it is only counted and logged")


class WatchedSourceSettings(BaseModel):
    """A place that documents come from."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(min_length=1, max_length=64, description="for people and the audit trail")
    folder: Path | None = Field(default=None, description="every file below it is a document")
    urls: tuple[str, ...] = Field(default=(), description="web addresses, each one document")
    topic: str = Field(min_length=1, max_length=64, description="topic of its documents")
    language: str = Field(default="", max_length=16, description="BCP 47; empty = detected")
    source_category: str = Field(default="", max_length=64, description='e.g. "legal-act"')
    licence: str = Field(default="", max_length=500, description="licence or legal status")
    authority: str = Field(default="", max_length=200, description="body that issues them")
    trusted: bool = Field(default=False, description="new versions go live without review")

    @model_validator(mode="after")
    def _has_a_place(self) -> Self:
        if self.folder is None and not self.urls:
            raise ValueError(f"source {self.name!r} needs a folder or urls")
        return self


class WatchSettings(BaseModel):
    """Watching folders and web addresses for changes."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    interval_seconds: float = Field(default=3600.0, ge=10, le=604_800, description="between two checks")
    allowed_hosts: tuple[str, ...] = Field(
        default=(), description="web hosts that may be asked; no patterns, no private addresses"
    )
    timeout_seconds: float = Field(
        default=30.0, gt=0, le=600, description="connecting, and each piece of an answer"
    )
    sources: tuple[WatchedSourceSettings, ...] = Field(default=(), description="what is watched")

    @field_validator("sources")
    @classmethod
    def _distinct(cls, sources: tuple[WatchedSourceSettings, ...]) -> tuple[WatchedSourceSettings, ...]:
        if len({source.name for source in sources}) != len(sources):
            raise ValueError("two watched sources have the same name")
        return sources


class IngestSettings(UserFacingSettings, section="ingest"):
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
    approvals_required: int = Field(
        default=1, ge=1, le=2, description="reviewers who must approve; 2 = two people, not the uploader"
    )
    max_upload_bytes: int = Field(
        default=64 * MEBIBYTE, ge=1, le=2048 * MEBIBYTE, description="size of a file, bytes"
    )
    worker_id: str = Field(
        default="local",
        min_length=1,
        max_length=64,
        pattern=r"^[A-Za-z0-9._-]+$",
        description="name of this process among those that share a database: the same after a restart, "
        "nobody else's (the pod's name in a StatefulSet)",
    )
    dead_worker_seconds: float = Field(
        default=30.0, ge=1, le=3600, description="silence after which a worker's jobs are taken over, seconds"
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
    registry: RegistrySettings = Field(default=RegistrySettings(), description="the database")
    functional_check: FunctionalCheckSettings = Field(
        default=FunctionalCheckSettings(), description="questions asked before a version goes live"
    )
    reconcile: ReconcileSettings = Field(
        default=ReconcileSettings(), description="comparing registry and index"
    )
    watch: WatchSettings = Field(default=WatchSettings(), description="watched folders and addresses")
    parsing: ParsingSettings = Field(default=ParsingSettings(), description="limits of reading one file")
    chunking: ChunkingSettings = Field(default=ChunkingSettings(), description="sizes of passages")

    @field_validator("topics")
    @classmethod
    def _topic_ids(cls, topics: tuple[str, ...]) -> tuple[str, ...]:
        if any(not 1 <= len(topic) <= 64 for topic in topics) or len(set(topics)) != len(topics):
            raise ValueError("topics are distinct ids of 1-64 characters")
        return topics
