"""Typed settings of a service: one YAML file with a section a service, overridden by the environment.

`RADREF_<SECTION>_<FIELD>` overrides a field; `__` separates nested fields
(`RADREF_RETRIEVAL_PROFILE__CANDIDATES=90`). The file is named by `--config` or `RADREF_CONFIG`. A key that
no setting has is an error, in the file and in the environment: a misspelt limit must not go unnoticed.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextvars import ContextVar
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import yaml
from pydantic import Field, SecretStr, ValidationError, field_validator
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    InitSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from radref.service.access.settings import AccessSettings, RateLimitSettings
from radref.service.tls.settings import TlsSettings
from radref.service.tracing.settings import TracingSettings

SECTIONS = ("gateway", "retrieval", "inference", "ingest")
DEFAULT_PORTS = {"gateway": 7100, "retrieval": 7101, "inference": 7102, "ingest": 7103}
ADMIN_PORT_OFFSET = 100

_file_values: ContextVar[dict[str, Any] | None] = ContextVar("radref_settings_file", default=None)


class SettingsError(Exception):
    """The settings cannot be used; the message lists every fault."""


class ServiceSettings(BaseSettings):
    """What every service has. Subclass with `section="retrieval"` to name the file section and prefix."""

    section: ClassVar[str] = ""
    model_config = SettingsConfigDict(extra="forbid", env_nested_delimiter="__", frozen=True)

    listen: str = Field(default="", description="host:port of the gRPC server; empty = loopback default")
    admin_listen: str = Field(
        default="", description="host:port of metrics and health over HTTP; empty = loopback default"
    )
    channelz_listen: str = Field(
        default="",
        description="host:port of gRPC's channelz, for finding faults, on loopback only; empty = off",
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(default="info", description="log level")
    max_inflight: int = Field(default=64, ge=1, le=10_000, description="calls worked on at once")
    max_queue: int = Field(default=128, ge=0, le=100_000, description="calls waiting for a place")
    require_deadline: bool = Field(default=True, description="refuse calls without a deadline")
    drain_wait_seconds: float = Field(
        default=5.0,
        ge=0,
        le=300,
        description="after SIGTERM: seconds of NOT_SERVING before calls are refused",
    )
    drain_grace_seconds: float = Field(
        default=150.0,
        ge=0,
        le=3600,
        description="after that: seconds for calls in flight; longer than the longest answer",
    )
    max_connection_age_seconds: float = Field(
        default=600.0,
        ge=0,
        le=86_400,
        description="callers connect anew after so many seconds and find new replicas; calls in flight "
        "get drain_grace_seconds; 0 = never",
    )

    tls: TlsSettings = Field(default=TlsSettings(), description="certificates between services")
    tracing: TracingSettings = Field(default=TracingSettings(), description="export of traces")

    def __init_subclass__(cls, section: str | None = None, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if section is not None:
            if section not in SECTIONS:
                raise ValueError(f"unknown settings section {section!r}")
            cls.section = section

    @field_validator("listen", "admin_listen", "channelz_listen")
    @classmethod
    def _host_and_port(cls, value: str) -> str:
        return accepted_address(value)

    @property
    def listen_address(self) -> str:
        return self.listen or f"127.0.0.1:{DEFAULT_PORTS[self.section]}"

    @property
    def admin_address(self) -> str:
        return self.admin_listen or f"127.0.0.1:{DEFAULT_PORTS[self.section] + ADMIN_PORT_OFFSET}"

    def served_addresses(self) -> dict[str, str]:
        """host:port of what other machines may reach, by the setting that says so; without the admin port."""
        addresses = {"listen": self.listen_address}
        if self.tls.peer_listen:
            addresses["tls.peer_listen"] = self.tls.peer_listen
        return addresses

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        env = EnvSettingsSource(settings_cls, env_prefix=env_prefix(cls.section))
        return init_settings, env, InitSettingsSource(settings_cls, init_kwargs=_file_values.get() or {})

    @classmethod
    def load(cls, config: Path | None = None, **overrides: Any) -> Self:
        """Reads file and environment.

        Args:
            config: the YAML file; None = the one named by RADREF_CONFIG, or none at all.
            overrides: values that win over both (command-line flags).

        Raises:
            SettingsError: unreadable file, unknown key or value out of range; lists every fault.
        """
        path = config or (Path(os.environ["RADREF_CONFIG"]) if os.environ.get("RADREF_CONFIG") else None)
        faults = unknown_environment(cls, os.environ)
        values: dict[str, Any] = {}
        if path is not None:
            sections = read_config_file(path)
            values = sections.get(cls.section, {})
        token = _file_values.set(values)
        try:
            settings = cls(**{key: value for key, value in overrides.items() if value is not None})
        except ValidationError as exc:
            faults += [
                f"{cls.section}.{_path(e['loc'])}: {e['msg']}" for e in exc.errors(include_input=False)
            ]
            raise SettingsError("\n".join(faults)) from None
        finally:
            _file_values.reset(token)
        if faults:
            raise SettingsError("\n".join(faults))
        return settings

    def masked(self) -> dict[str, Any]:
        """The effective settings with secrets masked, ready to print."""
        dumped: dict[str, Any] = self.model_dump(mode="python")
        dumped["listen"], dumped["admin_listen"] = self.listen_address, self.admin_address
        return {key: _mask(value) for key, value in dumped.items()}


def accepted_address(value: str) -> str:
    """Raises ValueError unless it is host:port or empty."""
    if value:
        host, _, port = value.rpartition(":")
        if not host or not port.isdigit() or int(port) > 65535:
            raise ValueError("must be host:port")
    return value


class UserFacingSettings(ServiceSettings):
    """What services that people and integrators reach have besides."""

    access: AccessSettings = Field(default=AccessSettings(), description="who may call what")
    rate_limit: RateLimitSettings = Field(
        default=RateLimitSettings(), description="how often one caller may call; with access control"
    )


def env_prefix(section: str) -> str:
    return f"RADREF_{section.upper()}_"


def read_config_file(path: Path) -> dict[str, dict[str, Any]]:
    """Sections of a settings file.

    Raises:
        SettingsError: unreadable, not YAML, or with a section no service has.
    """
    try:
        loaded = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    except OSError as exc:
        raise SettingsError(f"cannot read {path}: {exc.strerror}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as exc:
        raise SettingsError(f"{path} is not valid YAML: {exc}") from None
    if not isinstance(loaded, dict):
        raise SettingsError(f"{path} must hold sections: {', '.join(SECTIONS)}")
    unknown = sorted(set(loaded) - set(SECTIONS))
    if unknown:
        raise SettingsError(f"{path}: unknown section {', '.join(unknown)}; known: {', '.join(SECTIONS)}")
    for name, values in loaded.items():
        if values is not None and not isinstance(values, dict):
            raise SettingsError(f"{path}: section {name} must be a mapping")
    return {name: values or {} for name, values in loaded.items()}


def unknown_environment(settings: type[ServiceSettings], environment: Mapping[str, str]) -> list[str]:
    """Faults for variables with the service's prefix that name no setting."""
    prefix = env_prefix(settings.section)
    fields = {name.upper() for name in settings.model_fields}
    return [
        f"environment variable {name} names no setting of {settings.section}"
        for name in sorted(environment)
        if name.startswith(prefix) and name.removeprefix(prefix).split("__")[0] not in fields
    ]


def _path(location: tuple[int | str, ...]) -> str:
    return ".".join(str(part) for part in location)


def _mask(value: Any) -> Any:
    if isinstance(value, SecretStr):
        return "********" if value.get_secret_value() else ""
    if isinstance(value, dict):
        return {key: _mask(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_mask(item) for item in value]
    return str(value) if isinstance(value, Path) else value
