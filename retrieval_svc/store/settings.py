"""Settings of the vector store: `retrieval.store`, RADREF_RETRIEVAL_STORE__*."""

from __future__ import annotations

from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    field_validator,
    model_validator,
)

from radref.errors import PreconditionFailed


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class EdgeStoreSettings(_Part):
    """The index in `data_dir`, searched in this process."""

    backend: Literal["edge"] = Field(default="edge", description="edge = in this process, in data_dir")


class QdrantStoreSettings(_Part):
    """The index on a Qdrant server or cluster."""

    backend: Literal["qdrant"] = Field(description="qdrant = on a Qdrant server, over gRPC")
    target: str = Field(default="127.0.0.1:6334", description="host:port of its gRPC endpoint")
    tls: bool = Field(default=False, description="encrypt, and check the server's certificate")
    ca_file: Path | None = Field(
        default=None, description="PEM file of the authority that signed the server's certificate"
    )
    api_key: SecretStr = Field(
        default=SecretStr(""), description="key of the server; from api_key_file or the environment"
    )
    api_key_file: Path | None = Field(default=None, description="file that holds the key")
    prefix: str = Field(
        default="radref",
        pattern=r"^[a-z0-9][a-z0-9_]{0,31}$",
        description="begin of the names of all collections; one for each index on the server",
    )
    search_timeout_seconds: float = Field(
        default=5.0, gt=0, le=60, description="longest search, and longest reading of parents"
    )
    timeout_seconds: float = Field(
        default=60.0, gt=0, le=600, description="longest other call: a write, the catalogue, a new collection"
    )
    shards: int = Field(
        default=0, ge=0, le=256, description="shards of a new collection; 0 = the server's default"
    )
    replicas: int = Field(default=1, ge=1, le=16, description="copies of each shard of a new collection")
    write_replicas: int = Field(
        default=0,
        ge=0,
        le=16,
        description="copies that must have a write before it counts as done; 0 = all, so that every later "
        "search sees it",
    )
    on_disk: bool = Field(
        default=False,
        description="vectors and their indexes of a new collection are read from disk: less memory, slower",
    )

    @field_validator("target")
    @classmethod
    def _host_and_port(cls, value: str) -> str:
        host, _, port = value.rpartition(":")
        if not host or "/" in host or not port.isdecimal() or not 0 < int(port) < 65536:
            raise ValueError("must be host:port")
        return value

    @model_validator(mode="after")
    def _consistent(self) -> QdrantStoreSettings:
        with_key = self.api_key_file is not None or bool(self.api_key.get_secret_value())
        if self.api_key_file is not None and self.api_key.get_secret_value():
            raise ValueError("api_key and api_key_file are both set: set one of them")
        if self.ca_file is not None and not self.tls:
            raise ValueError("ca_file is set without tls")
        if with_key and not self.tls and not _is_loopback(self.host):
            raise ValueError("an API key needs tls: without it everybody on the way can read the key")
        if self.write_replicas > self.replicas:
            raise ValueError("write_replicas is larger than replicas")
        return self

    @property
    def host(self) -> str:
        return self.target.rpartition(":")[0]

    @property
    def port(self) -> int:
        return int(self.target.rpartition(":")[2])

    def key(self) -> str:
        """The API key; empty = none.

        Raises:
            PreconditionFailed: its file cannot be read (INVALID_STATE).
        """
        if self.api_key_file is None:
            return self.api_key.get_secret_value()
        return _read(self.api_key_file, "store.api_key_file").decode("utf-8", "replace").strip()

    def authority(self) -> bytes:
        """Contents of `ca_file`; empty = none.

        Raises:
            PreconditionFailed: it cannot be read (INVALID_STATE).
        """
        return _read(self.ca_file, "store.ca_file") if self.ca_file is not None else b""


def _read(path: Path, name: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as exc:
        raise PreconditionFailed(f"{name} {path} cannot be read: {type(exc).__name__}") from None


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def _with_default_backend(value: Any) -> Any:
    """A section without `backend` means the embedded engine; the union is told apart by that key."""
    return {"backend": "edge", **value} if isinstance(value, dict) else value


StoreSettings: TypeAlias = Annotated[
    Annotated[EdgeStoreSettings | QdrantStoreSettings, Field(discriminator="backend")],
    BeforeValidator(_with_default_backend),
]
