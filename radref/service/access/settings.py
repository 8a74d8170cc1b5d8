"""Settings of access control, for services that people and integrators reach."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, Self
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, model_validator

from radref.service.loopback import is_loopback

# Asymmetric only: with a shared secret every service that checks tokens could also make them.
Algorithm = Literal["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]


class AccessSettings(BaseModel):
    """Tokens that count here."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    mode: Literal["off", "jwt"] = Field(
        default="off", description="off = everybody may do everything, on loopback only; jwt = bearer tokens"
    )
    issuer: str = Field(default="", description="the tokens' iss, exactly")
    audience: str = Field(default="", description="what the tokens' aud must hold")
    jwks_url: str = Field(
        default="", description="https address of the issuer's keys (JWKS); http on loopback only"
    )
    jwks_file: Path | None = Field(default=None, description="file with the keys instead of jwks_url")
    jwks_ca_file: Path | None = Field(
        default=None, description="authorities trusted for jwks_url (PEM); empty = the system's"
    )
    jwks_cache_seconds: float = Field(
        default=600.0,
        ge=1,
        le=86_400,
        description="age at which keys are fetched again; a withdrawn key is refused after at most this time",
    )
    algorithms: tuple[Algorithm, ...] = Field(
        default=("RS256", "ES256"), min_length=1, description="signature algorithms that are accepted"
    )
    clock_skew_seconds: float = Field(
        default=30.0, ge=0, le=300, description="how far the issuer's clock may be off, seconds"
    )
    roles_claim: tuple[str, ...] = Field(
        default=("roles",),
        min_length=1,
        description="path to the role names in the token, e.g. [realm_access, roles] (Keycloak)",
    )

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if self.mode == "off":
            return self
        missing = [name for name in ("issuer", "audience") if not getattr(self, name)]
        if missing:
            raise ValueError(f"mode jwt needs {' and '.join(missing)}")
        if bool(self.jwks_url) == (self.jwks_file is not None):
            raise ValueError("mode jwt needs jwks_url or jwks_file, one of them")
        if self.jwks_url:
            address = urlsplit(self.jwks_url)
            if address.scheme != "https" and not (
                address.scheme == "http" and is_loopback(address.hostname or "")
            ):
                raise ValueError("jwks_url must be https: whoever can change the keys can make tokens")
        return self


class RateLimitSettings(BaseModel):
    """How often one caller may call; only with access control, which tells callers apart."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    calls_per_minute: float = Field(
        default=600.0, ge=0, le=1_000_000, description="calls a minute in the long run; 0 = no limit"
    )
    burst: int = Field(default=100, ge=1, le=1_000_000, description="calls at once after a pause")
