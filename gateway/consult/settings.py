"""Settings of consults."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field


class ConsultProfile(StrEnum):
    """How a consult is decided."""

    DEFAULT = "default"
    PAPER = "paper"


class ConsultSettings(BaseModel):
    """What consults can be told."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    profile: ConsultProfile = Field(
        default=ConsultProfile.DEFAULT,
        description="default: rules over facts read from the scenario; paper: search alone, or search and a "
        "language model (Paper B); needs retrieval.profile paper too",
    )
    topic: str = Field(default="consult", description="collection of the appropriateness variants")
    candidates: int = Field(
        default=50, ge=1, le=250, description="variants that are looked at, best retrieved first"
    )
    min_score: float = Field(
        default=2.0, ge=0, description="profile paper: BM25 score below which it abstains (Paper B: 2.0)"
    )
    model: str = Field(
        default="",
        description="language model that chooses among the candidates, never an excluded one; empty = none",
    )
    max_answer_tokens: int = Field(default=1024, ge=64, le=8192, description="cap on generated tokens")
    terminology_dir: Path | None = Field(
        default=None, description="folder of the site's own terminology files (*.yaml), added to radref's"
    )
