"""Settings of transport security."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from radref.service.tls.files import TlsFiles


class TlsSettings(BaseModel):
    """Certificates of this service and of its peers. Files are PEM and are read again when they change."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    mode: Literal["off", "mtls", "mesh"] = Field(
        default="off",
        description="off = no encryption, on loopback only; mtls = the files below; mesh = a service mesh "
        "encrypts and checks peers, this process does not",
    )
    cert_file: Path | None = Field(default=None, description="this service's certificate and its chain")
    key_file: Path | None = Field(default=None, description="its private key")
    ca_file: Path | None = Field(default=None, description="authorities that peers' certificates are from")
    allowed_peer_names: tuple[str, ...] = Field(
        default=(), description="names (SAN: DNS, URI or IP) of which a calling peer's certificate needs one"
    )
    peer_listen: str = Field(
        default="",
        description="gateway and ingest only: host:port where other services call with a certificate; "
        "on `listen` people and integrators need none, only a token",
    )

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if self.mode == "mtls":
            missing = [n for n in ("cert_file", "key_file", "ca_file") if getattr(self, n) is None]
            if missing:
                raise ValueError(f"mode mtls needs {', '.join(missing)}")
        if self.peer_listen:
            host, _, port = self.peer_listen.rpartition(":")
            if not host or not port.isdigit() or int(port) > 65535:
                raise ValueError("peer_listen must be host:port")
            if self.mode != "mtls" or not self.allowed_peer_names:
                raise ValueError("peer_listen needs mode mtls and allowed_peer_names")
        return self

    def files(self) -> TlsFiles | None:
        """What a channel to a neighbour needs; None = this process does not encrypt."""
        if self.mode != "mtls":
            return None
        return TlsFiles(ca=self.ca_file, cert=self.cert_file, key=self.key_file)
