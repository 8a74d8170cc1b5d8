"""Settings of the gateway."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field, field_validator

from gateway.audit.settings import AuditSettings
from gateway.consult.settings import ConsultSettings
from gateway.gate import GateThresholds
from gateway.validation.policy import ValidationPolicy
from radref.service.settings import UserFacingSettings, accepted_address


class GatewaySettings(UserFacingSettings, section="gateway"):
    """What the gateway can be told."""

    data_dir: Path = Field(
        default=Path(".radref/gateway"),
        description="folder of the audit store (SQLite) and of the key of its hashes",
    )
    retrieval_target: str = Field(default="127.0.0.1:7101", description="host:port of the retrieval service")
    inference_target: str = Field(default="127.0.0.1:7102", description="host:port of the inference service")
    ingest_target: str = Field(default="127.0.0.1:7103", description="host:port of the ingest service")
    max_query_characters: int = Field(
        default=4000, ge=1, le=20_000, description="longest question, characters"
    )
    rest_listen: str = Field(
        default="", description="host:port of the REST facade; empty = off; other than loopback needs TLS"
    )
    rest_max_timeout_seconds: int = Field(
        default=120,
        ge=1,
        le=3600,
        description="longest deadline of a REST request; keep drain_grace_seconds longer",
    )
    rerank: bool = Field(
        default=False, description="rerank before answering; needs a reranker in the inference service"
    )
    generation_parents: int = Field(
        default=5, ge=1, le=64, description="passages that go to the generator (Paper A: 5)"
    )
    max_model_calls: int = Field(
        default=0,
        ge=0,
        le=10_000,
        description="calls that search or answer, worked on at once, beside max_inflight others: as many as "
        "the models do at once without slowing each other; 0 = max_inflight for all. radref up without an "
        "inference section sets one for two processors",
    )
    models: tuple[str, ...] = Field(
        default=("extractive",),
        min_length=1,
        description="generators a caller may name; the first is the default",
    )
    max_prompt_tokens: int = Field(
        default=32_768,
        ge=8_192,
        le=130_000,
        description="bound on the prompt, estimated tokens; beyond, whole passages are left out from the end",
    )
    max_answer_tokens: int = Field(default=2048, ge=1, le=32_768, description="cap on generated tokens")
    gate: GateThresholds = Field(
        default_factory=GateThresholds, description="evidence gate before generation"
    )
    validation: ValidationPolicy = Field(
        default_factory=ValidationPolicy, description="what happens to what the validator finds"
    )
    consult: ConsultSettings = Field(
        default_factory=ConsultSettings, description="imaging appropriateness for a clinical scenario"
    )
    audit: AuditSettings = Field(
        default_factory=AuditSettings, description="who asked when, what was cited, how it ended"
    )

    def served_addresses(self) -> dict[str, str]:
        """As every service's, and the REST facade's."""
        rest = {"rest_listen": self.rest_listen} if self.rest_listen else {}
        return {**super().served_addresses(), **rest}

    @field_validator("rest_listen")
    @classmethod
    def _rest_address(cls, value: str) -> str:
        return accepted_address(value)
