"""A whole stack with mutual TLS between the services and tokens for people."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from radref.client import RadrefClient, TlsFiles
from tests.e2e.conftest import Running, start, stop
from tests.inference.certificates import certificate_authority
from tests.service.access_issuer import AUDIENCE, ISSUER, Issuer

NAMES = ("gateway", "ingest", "retrieval", "inference")


@dataclass
class Secured:
    """A running stack, and who gives out tokens for it."""

    running: Running
    issuer: Issuer
    ca: Path

    def client(self, *roles: str, subject: str = "dr.weber") -> RadrefClient:
        addresses = self.running.addresses
        token = self.issuer.token(sub=subject, roles=list(roles)) if roles else None
        return RadrefClient(
            gateway=addresses.gateway, ingest=addresses.ingest, token=token, tls=TlsFiles(self.ca)
        )


@contextmanager
def secured_stack(folder: Path, more: Mapping[str, Mapping[str, object]] | None = None) -> Iterator[Secured]:
    """Starts and ends it.

    Args:
        folder: an empty one for certificates, settings and data.
        more: further settings by service.
    """
    authority, issuer = certificate_authority(folder), Issuer()
    (folder / "jwks.json").write_bytes(issuer.jwks())
    access = {
        "mode": "jwt",
        "issuer": ISSUER,
        "audience": AUDIENCE,
        "jwks_file": str(folder / "jwks.json"),
        "algorithms": ["ES256"],
    }
    settings: dict[str, dict[str, object]] = {}
    for name in NAMES:
        cert, key = authority.issue(folder, name, name)
        tls = {
            "mode": "mtls",
            "cert_file": str(cert),
            "key_file": str(key),
            "ca_file": str(authority.path),
            "allowed_peer_names": ["gateway", "ingest", "retrieval", "operator"],
        }
        wanted = {"access": access} if name in ("gateway", "ingest") else {}
        settings[name] = {"tls": tls, **wanted, **(more or {}).get(name, {})}
    config = folder / "radref.yaml"
    config.write_text(json.dumps(settings), encoding="utf-8")
    # `radref up` asks each service whether it serves, so it needs a certificate as any peer does.
    cert, key = authority.issue(folder, "operator", "operator")
    environment = {
        "RADREF_CA_FILE": str(authority.path),
        "RADREF_CERT_FILE": str(cert),
        "RADREF_KEY_FILE": str(key),
    }
    kept = {name: os.environ.get(name) for name in environment}
    os.environ.update(environment)
    try:
        running = start(folder / "data", "--config", str(config))
        try:
            yield Secured(running, issuer, authority.path)
        finally:
            stop(running)
    finally:
        for name, value in kept.items():
            if value is None:
                os.environ.pop(name)
            else:
                os.environ[name] = value
