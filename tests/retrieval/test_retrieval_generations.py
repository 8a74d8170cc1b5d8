"""Another embedding model's index built beside the searched one, and the switch."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from radref.errors import InvalidInput, NotFound, PreconditionFailed, Unavailable
from retrieval_svc.query import Query
from retrieval_svc.retrieve import QueryEmbedding
from retrieval_svc.staging import Batch
from retrieval_svc.store.protocol import GenerationState
from tests.retrieval.retrieval_kit import FINGERPRINT, Kit, batch, header, open_kit, stream, vector_of

NEW = "0123456789abcdef"


async def put(kit: Kit, fingerprint: str, document: str, version: int, texts: list[str]) -> None:
    one = batch(document, version, texts)
    # The other model's vectors have another length.
    children = [replace(child, vector=[1.0, *(0.0 for _ in child.vector)]) for child in one.children]
    one = Batch(one.parents, children if fingerprint == NEW else one.children)
    head = header(document, version, len(one.parents), len(one.children))
    await kit.generations.stage(replace(head, embedder_fingerprint=fingerprint), stream(one))


async def published(kit: Kit, document: str, version: int, *texts: str) -> None:
    await put(kit, kit.generations.searched.fingerprint or FINGERPRINT, document, version, list(texts))
    await kit.generations.activate(document, version)


async def texts(kit: Kit) -> list[str]:
    retrieval = await kit.retriever.retrieve(Query("dose limit", legs=()))
    return sorted(one.parent.text for one in retrieval.parents)


@pytest.fixture
async def made(tmp_path: Path) -> Kit:
    """Two searched documents; vectors of questions fit whichever model is asked for."""

    async def embed(text: str, fingerprint: str) -> QueryEmbedding:
        vector = vector_of(text)
        return QueryEmbedding([1.0, *(0.0 for _ in vector)] if fingerprint == NEW else vector, fingerprint)

    kit = await open_kit(tmp_path / "index", embed=embed)
    await published(kit, "d", 1, "dose limit one", "dose limit two")
    await published(kit, "e", 1, "dose limit elsewhere")
    return kit


BEFORE = ["dose limit elsewhere", "dose limit one", "dose limit two"]


async def test_switch(made: Kit, tmp_path: Path) -> None:
    kit = made
    await kit.generations.begin(NEW)
    await kit.generations.begin(NEW)
    assert kit.generations.building_fingerprint == NEW
    await put(kit, NEW, "d", 1, ["dose limit one", "dose limit two"])
    assert await texts(kit) == BEFORE
    with pytest.raises(PreconditionFailed) as caught:
        await kit.generations.switch(NEW)
    assert (caught.value.reason, caught.value.metadata["missing"]) == ("INVALID_STATE", "1")
    await put(kit, NEW, "e", 1, ["dose limit elsewhere"])
    # What is withdrawn or replaced meanwhile follows at the switch.
    await published(kit, "e", 2, "dose limit elsewhere, later")
    with pytest.raises(PreconditionFailed):
        await kit.generations.switch(NEW)
    await put(kit, NEW, "e", 2, ["dose limit elsewhere, later"])
    await kit.generations.withdraw("d")
    await put(kit, FINGERPRINT, "f", 1, ["dose of the old model"])
    version = kit.catalogue.snapshot.index_version

    old = kit.generations.searched
    assert await kit.generations.switch(NEW) == FINGERPRINT
    assert await texts(kit) == ["dose limit elsewhere, later"]
    assert kit.catalogue.snapshot.index_version > version
    assert kit.generations.searched.fingerprint == NEW
    assert await kit.generations.switch(NEW) == FINGERPRINT, "asked again after a lost answer"
    assert await kit.generations.withdraw("d") == 0

    # Queries that began before find their parents until the grace is over; late stagings start over.
    assert await old.store.counts() is not None
    with pytest.raises(Unavailable) as late:
        await put(kit, FINGERPRINT, "f", 1, ["dose"])
    assert late.value.reason == "NOT_READY"
    with pytest.raises(Unavailable):
        await kit.generations.activate("f", 1)
    await kit.maintenance.sweep()
    assert kit.generations.retired == [""]
    kit.clock.ticks += kit.grace
    await kit.maintenance.sweep()
    assert kit.generations.retired == []
    assert not (tmp_path / "index" / "catalogue").exists()
    with pytest.raises(NotFound):
        await kit.generations.activate("f", 1)
    with pytest.raises(PreconditionFailed):
        await put(kit, FINGERPRINT, "f", 1, ["dose"])

    await kit.close()
    again = await open_kit(tmp_path / "index", embed=kit.embed)
    assert await texts(again) == ["dose limit elsewhere, later"]
    # And back again.
    await again.generations.begin(FINGERPRINT)
    await put(again, FINGERPRINT, "e", 2, ["dose limit elsewhere, later"])
    assert await again.generations.switch(FINGERPRINT) == NEW
    assert await texts(again) == ["dose limit elsewhere, later"]
    await again.close()


async def test_refusals(made: Kit, tmp_path: Path) -> None:
    kit = made
    for fingerprint in ("", " ", "x" * 129):
        with pytest.raises(InvalidInput):
            await kit.generations.begin(fingerprint)
    for call in (kit.generations.begin(FINGERPRINT), kit.generations.drop(FINGERPRINT)):
        with pytest.raises(PreconditionFailed):
            await call
    for call in (kit.generations.switch(NEW), kit.generations.versions(NEW)):
        with pytest.raises(PreconditionFailed) as caught:
            await call
        assert caught.value.reason == "MODEL_FINGERPRINT_MISMATCH"
    await kit.generations.begin(NEW)
    with pytest.raises(PreconditionFailed):
        await kit.generations.begin("another")
    await put(kit, NEW, "d", 1, ["dose limit one"])
    assert [one.record.document_id for one in await kit.generations.versions(NEW)] == ["d"]
    await kit.generations.drop(NEW)
    await kit.generations.drop(NEW)
    assert kit.generations.building_fingerprint == ""
    assert await texts(kit) == BEFORE
    kit.clock.ticks += kit.grace
    await kit.maintenance.sweep()
    kit.clock.ticks += kit.grace
    await kit.maintenance.sweep()
    assert not any((tmp_path / "index" / "generations").iterdir())
    await kit.close()
    empty = await open_kit(tmp_path / "empty")
    with pytest.raises(PreconditionFailed, match="empty"):
        await empty.generations.begin(NEW)
    await empty.close()


async def test_a_generation_goes_on_after_a_restart(made: Kit, tmp_path: Path) -> None:
    await made.generations.begin(NEW)
    await put(made, NEW, "d", 1, ["dose limit one", "dose limit two"])
    await made.close()
    kit = await open_kit(tmp_path / "index", embed=made.embed)
    assert await texts(kit) == BEFORE
    await put(kit, NEW, "e", 1, ["dose limit elsewhere"])
    await kit.generations.switch(NEW)
    assert await texts(kit) == BEFORE
    await kit.close()
    again = await open_kit(tmp_path / "index", embed=made.embed)
    assert again.generations.retired == []
    assert await texts(again) == BEFORE
    await again.close()


class Interrupted(Exception):
    """Stands for the death of the process."""


@pytest.mark.parametrize("written", [False, True])
async def test_a_crash_at_the_record_leaves_one_of_the_two(made: Kit, tmp_path: Path, written: bool) -> None:
    await made.generations.begin(NEW)
    await put(made, NEW, "d", 1, ["dose limit one", "dose limit two"])
    await put(made, NEW, "e", 1, ["dose limit elsewhere"])
    record = made.stores.record

    async def die(state: GenerationState) -> None:
        if written:
            await record(state)
        raise Interrupted

    made.stores.record = die  # type: ignore[method-assign]
    with pytest.raises(Interrupted):
        await made.generations.switch(NEW)
    assert await texts(made) == BEFORE
    await made.close()
    kit = await open_kit(tmp_path / "index", embed=made.embed)
    assert kit.generations.searched.fingerprint == (NEW if written else FINGERPRINT)
    assert await texts(kit) == BEFORE
    await kit.generations.switch(NEW)
    assert await texts(kit) == BEFORE
    await kit.close()


async def test_a_record_that_seems_to_fail_is_asked_for(made: Kit) -> None:
    record = made.stores.record

    async def written_but_failing(state: GenerationState) -> None:
        await record(state)
        raise Unavailable("disk full")

    made.stores.record = written_but_failing  # type: ignore[method-assign]
    await made.generations.begin(NEW)
    assert made.generations.building_fingerprint == NEW

    async def failing(state: GenerationState) -> None:
        raise Unavailable("disk full")

    made.stores.record = failing  # type: ignore[method-assign]
    with pytest.raises(Unavailable):
        await made.generations.drop(NEW)
    assert made.generations.building_fingerprint == NEW
    await made.close()


async def test_queries_are_answered_throughout(made: Kit) -> None:
    kit = made
    done = asyncio.Event()

    async def read() -> int:
        rounds = 0
        while not done.is_set():
            assert await texts(kit) == BEFORE
            rounds += 1
        return rounds

    readers = [asyncio.create_task(read()) for _ in range(2)]
    for fingerprint in (NEW, FINGERPRINT):
        await kit.generations.begin(fingerprint)
        await put(kit, fingerprint, "d", 1, ["dose limit one", "dose limit two"])
        await put(kit, fingerprint, "e", 1, ["dose limit elsewhere"])
        await kit.generations.switch(fingerprint)
        await texts(kit)
    done.set()
    assert all(await asyncio.gather(*readers))
    await kit.close()
