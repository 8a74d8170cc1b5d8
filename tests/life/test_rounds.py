"""Fifty rounds of upload, replace, withdraw and re-upload under queries.

Nothing withdrawn is ever found again, what is live is found exactly once, and the index holds what the
registry says.

Takes minutes: runs with `make test-faults`.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from radref.api.common.v1 import documents_pb2
from radref.api.ingest.v1 import ingest_pb2
from radref.client import RadrefClient
from tests.e2e.conftest import SAMPLES, ingest, start, stop

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(not os.environ.get("RADREF_TEST_FAULTS"), reason="takes minutes: make test-faults"),
]

ROUNDS = 50
DOCUMENT = "protocol"
METADATA = documents_pb2.DocumentMetadata(topic="safety", language="en", title="Room protocol")
# Stands in every version, so that concurrent queries always have something to find.
COMMON = "zugzwang"


def text(word: str) -> bytes:
    return f"# Room protocol\n\nThe {COMMON} of the room is {word}. Staff wear the {word} badge.\n".encode()


async def done(client: RadrefClient, job_id: str) -> None:
    last = None
    async for job in client.watch_job(job_id):
        last = job
    assert last is not None
    assert last.stage == ingest_pb2.JOB_STAGE_DONE, last.failure


async def found(client: RadrefClient, word: str) -> int:
    """Passages of the answer to a search that hold the word."""
    response = await client.search(word)
    return sum(word in ranked.passage.text for ranked in response.ranked_parents)


@asynccontextmanager
async def queries(client: RadrefClient) -> AsyncIterator[list[set[tuple[str, int]]]]:
    """Asks without pause; yields the (document, version) pairs of every answer that hold the common word."""
    seen: list[set[tuple[str, int]]] = []
    ended = asyncio.Event()

    async def ask() -> None:
        while not ended.is_set():
            response = await client.search(COMMON)
            seen.append(
                {
                    (ranked.passage.document_id, ranked.passage.version)
                    for ranked in response.ranked_parents
                    if COMMON in ranked.passage.text
                }
            )

    async with asyncio.TaskGroup() as group:
        for _ in range(2):
            group.create_task(ask())
        yield seen
        ended.set()


async def test_fifty_rounds(tmp_path: Path) -> None:
    running = start(tmp_path)
    try:
        async with running.client() as client:
            await ingest(client, SAMPLES / "safety-dose-limits.md", SAMPLES / "safety-mr-access-zones.html")
            async with queries(client) as seen:
                for number in range(ROUNDS):
                    first, second, third = (f"qx{number}{letter}vz" for letter in "abc")
                    submitted = await client.submit_file(
                        text(first), "protocol.md", METADATA, document_id=DOCUMENT
                    )
                    await done(client, submitted.job_id)
                    assert await found(client, first) == 1

                    asked = len(seen) + 2
                    replaced = await client.kb.replace_file(DOCUMENT, text(second), "protocol.md", METADATA)
                    await done(client, replaced.job_id)
                    # The old or the new one, never neither.
                    assert all(len(pairs) == 1 for pairs in seen[asked:])
                    assert (await found(client, first), await found(client, second)) == (0, 1)

                    gone = await client.withdraw_document(DOCUMENT, f"round {number}")
                    assert gone.previous_version == replaced.version
                    assert (await found(client, first), await found(client, second)) == (0, 0)

                    again = await client.submit_file(
                        text(third), "protocol.md", METADATA, document_id=DOCUMENT
                    )
                    await done(client, again.job_id)
                    assert await found(client, third) == 1
                    await client.withdraw_document(DOCUMENT, f"end of round {number}")
                    assert await found(client, third) == 0

                    report = await client.kb.verify_index()
                    assert not report.divergences
                    assert report.children_found == report.children_expected > 0
                    assert report.documents == 2
            assert len(seen) > ROUNDS
            # Never both versions at once.
            assert all(len(pairs) <= 1 for pairs in seen)
            versions = await client.kb.list_versions(DOCUMENT)
            assert [version.version for version in versions] == list(range(1, 3 * ROUNDS + 1))
    finally:
        stop(running)
