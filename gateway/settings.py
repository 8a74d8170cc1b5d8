"""Settings of the gateway."""

from __future__ import annotations

from pydantic import Field

from gateway.gate import GateThresholds
from gateway.validation.policy import ValidationPolicy
from radref.service.settings import UserFacingSettings


class GatewaySettings(UserFacingSettings, section="gateway"):
    """What the gateway can be told."""

    retrieval_target: str = Field(default="127.0.0.1:7101", description="host:port of the retrieval service")
    inference_target: str = Field(default="127.0.0.1:7102", description="host:port of the inference service")
    ingest_target: str = Field(default="127.0.0.1:7103", description="host:port of the ingest service")
    max_query_characters: int = Field(
        default=4000, ge=1, le=20_000, description="longest question, characters"
    )
    rerank: bool = Field(
        default=False, description="rerank before answering; needs a reranker in the inference service"
    )
    generation_parents: int = Field(
        default=5, ge=1, le=64, description="passages that go to the generator (Paper A: 5)"
    )
    models: tuple[str, ...] = Field(
        default=("extractive",),
        min_length=1,
        description="generators a caller may name; the first is the default",
    )
    max_answer_tokens: int = Field(default=2048, ge=1, le=32_768, description="cap on generated tokens")
    gate: GateThresholds = Field(
        default_factory=GateThresholds, description="evidence gate before generation"
    )
    validation: ValidationPolicy = Field(
        default_factory=ValidationPolicy, description="what happens to what the validator finds"
    )
