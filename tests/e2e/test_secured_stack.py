"""The whole stack with mutual TLS between the services and tokens for people."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from radref.cli.uploads import Verdict
from radref.client import RadrefClient
from radref.errors import PermissionDenied, Unauthenticated, Unavailable
from tests.e2e.conftest import SAMPLES, ingest
from tests.e2e.secured_stack import Secured, secured_stack

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    with secured_stack(tmp_path_factory.mktemp("secured")) as running:
        yield running


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
