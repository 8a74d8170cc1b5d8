"""Settings of the audit store."""

from __future__ import annotations

from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator, model_validator

from gateway.audit.database_url import is_shared, parse_database_url


class AuditSettings(BaseModel):
    """Who asked when, what was cited, how it ended."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    url: SecretStr = Field(
        default=SecretStr(""), description="postgresql://user:password@host/name; empty = SQLite in data_dir"
    )
    required: bool = Field(
        default=True, description="refuse answers that cannot be recorded; false: answer all the same"
    )
    keep_query_text: bool = Field(
        default=False, description="keep the text of questions beside its hash; it may hold patient data"
    )
    hash_key_file: Path | None = Field(
        default=None,
        description="key of the hash of questions, at least 32 bytes, mode 0600 (of root: 0640); "
        "empty = made in data_dir",
    )
    retention_days: int = Field(
        default=365, ge=1, le=36_500, description="days after which records and their feedback are deleted"
    )

    @field_validator("url")
    @classmethod
    def _known_database(cls, url: SecretStr) -> SecretStr:
        if url.get_secret_value():
            parse_database_url(url.get_secret_value())
        return url

    @model_validator(mode="after")
    def _one_key_for_all(self) -> Self:
        # Hashes of gateways with different keys never match, and nobody would notice.
        if self.url.get_secret_value() and is_shared(self.url.get_secret_value()) and not self.hash_key_file:
            raise ValueError("hash_key_file is needed with PostgreSQL: all gateways use the same key")
        return self
