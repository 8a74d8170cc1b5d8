"""The whole index anew with another embedding model: real registry, real index, two models."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from ingest_svc.reembedding import StartReembedding
from ingest_svc.registry import audit
from ingest_svc.registry.database import Database
from ingest_svc.registry.migrate import upgrade
from radref.errors import InvalidInput, PreconditionFailed
from tests.ingest.reembedding.two_models import PIECES, WORDS, KnowledgeBase, knowledge_base


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    made = Database(f"sqlite:///{tmp_path / 'registry.sqlite3'}")
    upgrade(made.engine)
    yield made
    made.close()


@pytest.fixture
async def base(database: Database, tmp_path: Path) -> AsyncIterator[KnowledgeBase]:
    async with knowledge_base(database, tmp_path) as made:
        yield made


def paragraphs(name: str) -> list[str]:
    """Two parents of two or more children each."""
    return [" ".join(f"word {name}{part}x{n}." for n in range(9)) for part in range(5)]


async def ignored(done: int, total: int) -> None:
    """Progress that nobody watches."""


async def test_everything_is_searched_by_the_new_model_with_the_same_citations(base: KnowledgeBase) -> None:
    citations = set()
    for name in ("a", "b", "c"):
        citations |= await base.publish(name, *paragraphs(name))
    assert await base.found() == citations
    told: list[tuple[int, int]] = []
    done = asyncio.Event()
    queries = 0

    async def ask() -> None:
        nonlocal queries
        while not done.is_set():
            assert await base.found() == citations
            queries += 1

    async def progress(count: int, total: int) -> None:
        told.append((count, total))

    asking = asyncio.create_task(ask())
    assert await base.reembedding.request("pieces", abandoned=False) == PIECES
    await base.reembedding.run(progress)
    assert base.kit.generations.searched.fingerprint == PIECES
    await base.found()
    done.set()
    await asking
    assert queries > 1
    assert told == [(0, 3), (1, 3), (2, 3), (3, 3)]
    assert await base.found() == citations
    # Asked again, there is nothing to do; a job that was repeated after the switch ends well.
    embedded = base.models.embedded["pieces"]
    await base.reembedding.run(ignored)
    with pytest.raises(PreconditionFailed):
        await base.reembedding.request("pieces", abandoned=False)
    assert base.models.embedded["pieces"] == embedded
    # Back, and what was embedded once by the first model is cut as it was.
    await base.reembedding.request("words", abandoned=False)
    await base.reembedding.run(ignored)
    assert base.kit.generations.searched.fingerprint == WORDS
    assert await base.found() == citations


async def test_a_run_goes_on_where_the_last_one_stopped(base: KnowledgeBase) -> None:
    for name in ("a", "b", "c"):
        await base.publish(name, *paragraphs(name))
    await base.reembedding.request("pieces", abandoned=False)

    class Killed(Exception):
        pass

    async def die(done: int, total: int) -> None:
        if done == 2:
            raise Killed

    with pytest.raises(Killed):
        await base.reembedding.run(die)
    assert base.kit.generations.searched.fingerprint == WORDS
    first = base.models.embedded["pieces"]
    await base.reembedding.run(ignored)
    assert base.models.embedded["pieces"] * 2 == first * 3, "each document was embedded once"
    assert base.kit.generations.searched.fingerprint == PIECES


async def test_it_catches_up_with_what_changes_meanwhile(base: KnowledgeBase) -> None:
    await base.publish("a", *paragraphs("a"))
    await base.publish("b", *paragraphs("b"))
    await base.reembedding.request("pieces", abandoned=False)
    expected: set[str] = set()

    async def change(done: int, total: int) -> None:
        if done == total and not expected:
            expected.update(await base.publish("c", *paragraphs("c")))
            await base.staging.withdraw("a")
            expected.update(await base.publish("b", *paragraphs("later")))

    await base.reembedding.run(change)
    assert base.kit.generations.searched.fingerprint == PIECES
    assert await base.found() == expected


async def test_new_documents_are_embedded_by_the_model_that_is_searched(base: KnowledgeBase) -> None:
    searched = base.searched_model()
    assert await searched.fingerprint() == WORDS, "of an empty index the default"
    await base.publish("a", *paragraphs("a"))
    await base.reembedding.request("pieces", abandoned=False)
    assert (await searched.embed(["word"])).fingerprint == WORDS
    await base.reembedding.run(ignored)
    assert await searched.fingerprint() == PIECES
    assert (await searched.embed(["word"])).fingerprint == PIECES
    assert (await searched.tokenize("words")).offsets == [(0, 3), (3, 5)]
    base.models.loaded = ("words",)
    with pytest.raises(PreconditionFailed) as caught:
        await searched.fingerprint()
    assert caught.value.reason == "MODEL_FINGERPRINT_MISMATCH"


async def test_refusals(base: KnowledgeBase) -> None:
    with pytest.raises(PreconditionFailed, match="empty"):
        await base.reembedding.request("pieces", abandoned=False)
    with pytest.raises(InvalidInput) as unknown:
        await base.reembedding.request("big", abandoned=False)
    assert unknown.value.reason == "UNKNOWN_MODEL"
    await base.publish("a", *paragraphs("a"))
    with pytest.raises(PreconditionFailed, match="already"):
        await base.reembedding.request("", abandoned=False)
    await base.reembedding.request("pieces", abandoned=False)
    base.models.loaded = ("words",)
    with pytest.raises(PreconditionFailed) as caught:
        await base.reembedding.run(ignored)
    assert caught.value.reason == "MODEL_FINGERPRINT_MISMATCH"
    base.models.loaded = ("pieces",)
    await base.reembedding.run(ignored)
    assert base.kit.generations.searched.fingerprint == PIECES


async def test_asking_twice_is_one_job(base: KnowledgeBase) -> None:
    woken: list[None] = []
    start = StartReembedding(
        database=base.database, reembedding=base.reembedding, wake=lambda: woken.append(None)
    )
    with pytest.raises(PreconditionFailed):
        await start("pieces", "curator")
    await base.publish("a", *paragraphs("a"))
    job_id = await start("pieces", "curator")
    assert await start("pieces", "curator") == job_id
    assert len(woken) == 2
    events, _ = await base.database.read(
        lambda session: audit.list_events(session, document_id="", limit=9, before=None)
    )
    assert [(event.actor, event.action) for event in events[:1]] == [("curator", "reembed")]
    assert [event.action for event in events].count("reembed") == 1


async def test_what_a_failed_job_left_half_built_gives_way(base: KnowledgeBase) -> None:
    citations = await base.publish("a", *paragraphs("a"))
    await base.reembedding.request("pieces", abandoned=False)
    start = StartReembedding(database=base.database, reembedding=base.reembedding, wake=lambda: None)
    with pytest.raises(PreconditionFailed, match="already"):
        await start("words", "curator")
    assert await base.index.fingerprints() == (WORDS, "")
    assert await base.found() == citations
