"""The whole stack with mutual TLS between the services and tokens for people."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from radref.cli.uploads import Verdict
from radref.client import RadrefClient, TlsFiles
from radref.errors import PermissionDenied, Unauthenticated, Unavailable
from tests.e2e.conftest import SAMPLES, Running, ingest, start, stop
from tests.inference.certificates import certificate_authority
from tests.service.access_issuer import AUDIENCE, ISSUER, Issuer

pytestmark = pytest.mark.e2e
NAMES = ("gateway", "ingest", "retrieval", "inference")


@dataclass
class Secured:
    running: Running
    issuer: Issuer
    ca: Path

    def client(self, *roles: str, subject: str = "dr.weber") -> RadrefClient:
        addresses = self.running.addresses
        token = self.issuer.token(sub=subject, roles=list(roles)) if roles else None
        return RadrefClient(
            gateway=addresses.gateway, ingest=addresses.ingest, token=token, tls=TlsFiles(self.ca)
        )


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    folder = tmp_path_factory.mktemp("secured")
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
        settings[name] = {"tls": tls, **({"access": access} if name in ("gateway", "ingest") else {})}
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


def test_a_document_is_brought_in_asked_for_and_cited(secured: Secured) -> None:
    async def work() -> None:
        async with secured.client("curator", subject="librarian") as curator:
            results = await ingest(curator, *sorted(SAMPLES.rglob("*.md"))[:3])
            assert results
            assert {result.verdict for result in results} == {Verdict.INDEXED}
        async with secured.client("reader") as reader:
            found = (await reader.search("dose limit")).ranked_parents
            assert found
            # The gateway asks the ingest service with the reader's own token.
            source = await reader.get_source(found[0].passage.citation_id)
            assert source.passage.text
            with pytest.raises(PermissionDenied):
                await ingest_nothing(reader)
        async with secured.client("admin") as admin:
            actors = {event.actor async for event in admin.kb.list_audit_events()}
            assert "librarian" in actors
            assert "local" not in actors

    asyncio.run(work())


async def ingest_nothing(client: RadrefClient) -> None:
    await client.withdraw_document("some-document", "no reason")


def test_without_token_or_without_trust_nothing_is_answered(secured: Secured) -> None:
    async def work() -> None:
        async with secured.client() as nobody:
            with pytest.raises(Unauthenticated):
                await nobody.search("dose limit")
        addresses = secured.running.addresses
        token = secured.issuer.token()
        async with RadrefClient(gateway=addresses.gateway, token=token) as plain:
            with pytest.raises(Unavailable):
                await plain.search("dose limit")

    asyncio.run(work())


def test_the_command_line_takes_token_and_authority_from_the_environment(
    secured: Secured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = secured.running.cli("search", "dose limit")
    assert refused.returncode == 1
    assert "token" in refused.stderr
    path = tmp_path / "token"
    path.write_text(secured.issuer.token(roles=["reader", "curator"]))
    monkeypatch.setenv("RADREF_TOKEN_FILE", str(path))
    assert secured.running.cli("search", "dose limit").returncode == 0
    status = secured.running.cli("status")
    assert status.returncode == 0, status.stdout + status.stderr
