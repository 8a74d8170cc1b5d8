from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from radref.errors import InvalidInput, NotFound, PreconditionFailed, Unavailable
from retrieval_svc.model import DocumentRecord, Filters
from retrieval_svc.query import Query
from retrieval_svc.staging import Batch
from retrieval_svc.store.protocol import PointCounts
from tests.retrieval.retrieval_kit import Kit, batch, beside, header, open_kit, stream, vector_of


async def texts(kit: Kit, query: str = "dose limit") -> list[str]:
    retrieval = await kit.retriever.retrieve(Query(query))
    return sorted(found.parent.text for found in retrieval.parents)


async def test_staged_is_invisible_until_activated(kit: Kit) -> None:
    await kit.put("d", 1, ["dose limit of 20 mSv"], activate=False)
    assert await texts(kit) == []
    assert await kit.index.activate("d", 1) == 0
    assert await texts(kit) == ["dose limit of 20 mSv"]
    assert kit.catalogue.snapshot.index_version > 0


async def test_new_version_replaces_the_old(kit: Kit) -> None:
    await kit.put("d", 1, ["dose limit of 20 mSv", "dose limit for lenses"])
    await kit.put("d", 2, ["dose limit of 50 mSv"], activate=False)
    assert await texts(kit) == ["dose limit for lenses", "dose limit of 20 mSv"]
    assert await kit.index.activate("d", 2) == 1
    assert await texts(kit) == ["dose limit of 50 mSv"]
    assert await kit.index.activate("d", 1) == 2
    assert await texts(kit) == ["dose limit for lenses", "dose limit of 20 mSv"]


async def test_restaging_the_searched_version_waits_for_activation(kit: Kit) -> None:
    await kit.put("d", 1, ["dose limit first reading"])
    await kit.put("d", 1, ["dose limit second reading"], activate=False)
    assert await texts(kit) == ["dose limit first reading"]
    assert await kit.index.activate("d", 1) == 1
    assert await texts(kit) == ["dose limit second reading"]
    version = kit.catalogue.snapshot.index_version
    assert await kit.index.activate("d", 1) == 1
    assert kit.catalogue.snapshot.index_version == version


async def test_withdrawal(kit: Kit) -> None:
    await kit.put("d", 1, ["dose limit"])
    await kit.put("other", 1, ["dose limit elsewhere"], topic="physics")
    assert await kit.index.withdraw("d") == 1
    assert await texts(kit) == ["dose limit elsewhere"]
    assert await kit.index.withdraw("d") == 0
    assert dict(kit.catalogue.active_documents()) == {"physics": 1}


async def test_unknown(kit: Kit) -> None:
    await kit.put("d", 1, ["dose"], activate=False)
    for document, version, reason in (("x", 1, "UNKNOWN_DOCUMENT"), ("d", 2, "UNKNOWN_VERSION")):
        with pytest.raises(NotFound) as caught:
            await kit.index.activate(document, version)
        assert caught.value.reason == reason
    assert await kit.index.withdraw("x") == 0
    with pytest.raises(InvalidInput):
        await kit.index.activate("d", 0)


async def test_parents_may_all_come_first(kit: Kit) -> None:
    one = batch("d", 1, ["dose limit", "dose rate"])
    await kit.index.stage(
        header("d", 1, 2, 2),
        stream(Batch(one.parents, ()), Batch((), one.children[:1]), Batch((), one.children[1:])),
    )
    await kit.index.activate("d", 1)
    assert await texts(kit, "dose") == ["dose limit", "dose rate"]


async def test_a_broken_stream_leaves_nothing_visible(kit: Kit) -> None:
    one = batch("d", 1, ["dose limit", "dose rate"])
    with pytest.raises(InvalidInput):
        await kit.index.stage(header("d", 1, 3, 3), stream(one))
    with pytest.raises(NotFound):
        await kit.index.activate("d", 1)
    assert list((await kit.store.stored_stages()).values()) == [PointCounts(2, 2)]
    await kit.maintenance.sweep()
    kit.clock.ticks += kit.grace
    await kit.maintenance.sweep()
    assert await kit.store.stored_stages() == {}


async def test_another_model_is_refused(kit: Kit) -> None:
    await kit.put("d", 1, ["dose limit"])
    one = batch("e", 1, ["dose"])
    with pytest.raises(PreconditionFailed) as caught:
        await kit.index.stage(replace(header("e", 1, 1, 1), embedder_fingerprint="0" * 16), stream(one))
    assert caught.value.reason == "MODEL_FINGERPRINT_MISMATCH"
    short = Batch(one.parents, [replace(one.children[0], vector=[1.0])])
    with pytest.raises(InvalidInput):
        await kit.index.stage(header("e", 1, 1, 1), stream(short))


async def test_reload(tmp_path: Path) -> None:
    first = await open_kit(tmp_path / "i")
    await first.put("d", 1, ["dose limit"])
    await first.put("d", 2, ["dose limit new"], activate=False)
    await first.put("gone", 1, ["dose gone"])
    await first.index.withdraw("gone")
    query = Query("dose limit", want_candidates=True)
    before = await first.retriever.retrieve(query)
    await first.close()

    second = await open_kit(tmp_path / "i")
    after = await second.retriever.retrieve(query)
    assert replace(after, timings={}) == replace(before, timings={})
    assert await second.index.activate("d", 2) == 1
    await second.close()

    with pytest.raises(PreconditionFailed, match="BM25"):
        await open_kit(tmp_path / "i", bm25_headings=True)


async def test_superseded_versions_are_deleted_in_two_steps(kit: Kit) -> None:
    await kit.put("d", 1, ["dose limit old"])
    await kit.put("d", 2, ["dose limit new"])
    await kit.put("d", 3, ["dose limit next"], activate=False)
    kit.clock.moment += timedelta(seconds=1)
    assert await kit.index.activate("d", 1) == 2, "within the retention a rollback needs no staging"
    assert await kit.index.activate("d", 2) == 1
    kit.clock.moment += timedelta(seconds=kit.retention)
    await kit.put("d", 4, ["dose limit later"], activate=False)
    await kit.maintenance.sweep()
    with pytest.raises(NotFound):
        await kit.index.activate("d", 1)
    assert len(await kit.store.stored_stages()) == 4, "queries that began earlier still find their parents"
    kit.clock.ticks += kit.grace
    await kit.maintenance.sweep()
    # 1 and 3 were staged before the last switch; 2 is searched, 4 came later and may still be activated.
    assert sorted(record.version for record in kit.catalogue.staged) == [2, 4]
    assert set(await kit.store.stored_stages()) == {record.stage for record in kit.catalogue.staged}
    assert await texts(kit) == ["dose limit new"]


async def test_interrupted_deletion_is_not_activatable(tmp_path: Path) -> None:
    kit = await open_kit(tmp_path / "i")
    await kit.put("d", 1, ["dose limit", "dose rate"], activate=False)
    (record,) = kit.catalogue.staged
    await kit.store.delete_points([record.stage])
    await kit.index.load()
    with pytest.raises(NotFound):
        await kit.index.activate("d", 1)
    assert await kit.store.catalogue() == ([], [])
    await kit.close()


async def test_readers_see_the_old_or_the_new_version(kit: Kit) -> None:
    """Queries run while versions are staged and switched; each sees all parents of exactly one version."""
    names = [f"dose limit part {part}" for part in range(4)]
    await kit.put("d", 1, [f"{name} of version 1" for name in names])
    done = asyncio.Event()
    seen: set[str] = set()

    async def read() -> None:
        while not done.is_set():
            found = await texts(kit)
            versions = {text.split()[-1] for text in found}
            assert len(found) == 4, found
            assert len(versions) == 1, versions
            seen.update(versions)

    readers = [asyncio.create_task(read()) for _ in range(3)]
    for version in range(2, 6):
        await kit.put("d", version, [f"{name} of version {version}" for name in names])
        await texts(kit)
    done.set()
    await asyncio.gather(*readers)
    assert len(seen) >= 2


async def test_stale_versions_do_not_eat_the_result_list(kit: Kit) -> None:
    await kit.put("d", 1, ["dose limit searched"])
    await kit.put("d", 2, [f"dose limit {number}" for number in range(200)], activate=False)
    assert await texts(kit) == ["dose limit searched"]


class FailingStore:
    """The real store, but one that writes a document record and then reports failure."""

    def __init__(self, store: object) -> None:
        self._store = store

    def __getattr__(self, name: str) -> object:
        return getattr(self._store, name)

    async def put_document(self, record: DocumentRecord) -> None:
        await self._store.put_document(record)  # type: ignore[attr-defined]
        raise Unavailable("disk full")


async def test_a_failed_switch_shows_what_the_store_holds(kit: Kit) -> None:
    await kit.put("d", 1, ["dose limit"], activate=False)
    failing = await beside(kit, FailingStore)
    with pytest.raises(Unavailable):
        await failing.index.activate("d", 1)
    assert await texts(failing) == ["dose limit"]
    hits = (await kit.store.search_dense("safety", vector_of("dose"), limit=9, filters=Filters())).hits
    assert len(hits) == 1
