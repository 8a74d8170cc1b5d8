"""Settings of access control."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, Self
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, model_validator

from radref.service.access.addresses import is_loopback_host

# Asymmetric ones only: with a shared secret every service that checks tokens could also make them.
Algorithm = Literal["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]


class AccessSettings(BaseModel):
    """Tokens (JWT, RFC 7519) of the site's identity provider, and limits per caller."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    mode: Literal["off", "jwt"] = Field(default="off", description="off only on a loopback address")
    issuer: str = Field(default="", description="claim iss of accepted tokens, exactly")
    audience: str = Field(default="", description="claim aud must be or hold this")
    jwks_url: str = Field(default="", description="keys of the issuer (RFC 7517); https, or http on loopback")
    jwks_file: Path | None = Field(default=None, description="the same as a file; read again when it changes")
    algorithms: tuple[Algorithm, ...] = Field(
        default=("RS256", "ES256"), min_length=1, description="signatures that are accepted"
    )
    roles_claim: str = Field(
        default="roles",
        min_length=1,
        description='claim with the roles, dots for nested ones, e.g. "realm_access.roles"',
    )
    clock_skew_seconds: int = Field(default=30, ge=0, le=300, description="tolerated for exp, nbf and iat")
    calls_per_minute: int = Field(
        default=0, ge=0, le=1_000_000, description="calls of one caller a minute, 0 = no limit"
    )

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if self.mode == "off":
            return self
        missing = [name for name in ("issuer", "audience") if not getattr(self, name)]
        if missing:
            raise ValueError(f"access.mode jwt needs {' and '.join(missing)}")
        if bool(self.jwks_url) == bool(self.jwks_file):
            raise ValueError("access.mode jwt needs either jwks_url or jwks_file")
        if self.jwks_url:
            url = urlsplit(self.jwks_url)
            if url.scheme != "https" and not (url.scheme == "http" and is_loopback_host(url.hostname or "")):
                raise ValueError("access.jwks_url must be https: who can change the keys can be anybody")
        return self
