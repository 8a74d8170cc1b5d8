"""Appropriateness variants through the real processes: loaded, found by name, replaced, withdrawn, cited."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from radref.api.common.v1 import documents_pb2
from radref.appropriateness.documents import variant_document_id
from radref.appropriateness.kb_file import read_kb
from radref.appropriateness.messages import variant_to_proto
from radref.appropriateness.model import Variant
from radref.appropriateness.passage import parse
from radref.client import RadrefClient
from radref.errors import PreconditionFailed
from tests.e2e.conftest import Running

pytestmark = pytest.mark.e2e

KB = Path(__file__).parents[2] / "samples" / "appropriateness" / "kb.yaml"
SCENARIO = "sudden worst headache of life"
CONSULT = documents_pb2.SearchFilters(topics=["consult"])


@pytest.fixture(scope="module")
def loaded(stack: Running) -> Iterator[Running]:
    """The samples, and the sample base beside them until the end of the module."""
    done = stack.cli("kb", "load-variants", str(KB))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "12 new, 0 changed, 0 unchanged, 0 withdrawn, 0 failed" in done.stdout
    try:
        yield stack
    finally:

        async def clear() -> None:
            async with stack.client() as client:
                documents = [item async for item in client.kb.list_documents(topics=["consult"])]
                for document in documents:
                    if document.active_version:
                        await client.kb.withdraw_document(document.document_id, "end of the test")

        asyncio.run(clear())


async def passages(client: RadrefClient, filters: documents_pb2.SearchFilters) -> list[documents_pb2.Passage]:
    response = await client.search(SCENARIO, filters=filters)
    return [ranked.passage for ranked in response.ranked_parents]


async def changed(client: RadrefClient, variant: Variant) -> None:
    response = await client.kb.submit_variant(variant_to_proto(variant))
    async for job in client.kb.watch_job(response.job_id):
        assert not job.HasField("failure"), job


async def test_every_variant_is_one_passage_that_reads_back(loaded: Running) -> None:
    base = read_kb(KB)
    async with loaded.client() as client:
        found = await passages(client, CONSULT)
        assert parse(found[0].text).id == "headache-thunderclap"
        assert {parse(passage.text) for passage in found} == set(base.variants)
        assert len(found) == 12
        source = await client.get_source(found[0].citation_id)
        assert parse(source.passage.text) == base.variants[0]
        documents = [item async for item in client.kb.list_documents(topics=["consult"])]
        assert {(item.parents, item.children) for item in documents} == {(1, 1)}
        unasked = await passages(client, documents_pb2.SearchFilters())
        assert all(passage.metadata.topic != "consult" for passage in unasked)
        report = await client.kb.verify_index()
        assert not report.divergences


async def test_new_version_and_withdrawal(loaded: Running) -> None:
    before = read_kb(KB).variants[0]
    after = replace(before, narrative="Another reason altogether.")
    document_id = variant_document_id(before.id)

    async def cited(client: RadrefClient) -> documents_pb2.Passage | None:
        found = [item for item in await passages(client, CONSULT) if item.document_id == document_id]
        assert len(found) <= 1, "never two versions at once"
        return found[0] if found else None

    async with loaded.client() as client:
        first = await cited(client)
        assert first is not None
        assert parse(first.text) == before
        await changed(client, after)
        second = await cited(client)
        assert second is not None
        assert parse(second.text) == after
        await client.kb.withdraw_document(document_id, "outdated")
        assert await cited(client) is None
        for passage, state, variant in (
            (first, documents_pb2.DOCUMENT_STATE_WITHDRAWN, before),
            (second, documents_pb2.DOCUMENT_STATE_WITHDRAWN, after),
        ):
            source = await client.get_source(passage.citation_id)
            assert source.state == state
            assert parse(source.passage.text) == variant
        with pytest.raises(PreconditionFailed):
            await client.kb.withdraw_document(document_id, "again")

    skipped = loaded.cli("kb", "load-variants", str(KB))
    assert "11 unchanged" in skipped.stdout
    assert "1 skipped" in skipped.stdout
    again = loaded.cli("kb", "load-variants", str(KB), "--reopen")
    assert "1 new" in again.stdout
    async with loaded.client() as client:
        third = await cited(client)
        assert third is not None
        assert parse(third.text) == before
