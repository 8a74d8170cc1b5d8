"""What every adapter of `VectorStore` must do. Add an adapter to `OPENERS` to run it through the suite."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from radref.errors import PreconditionFailed
from retrieval_svc.bm25 import SparseVector
from retrieval_svc.model import (
    Child,
    DocumentRecord,
    Filters,
    IndexedChild,
    IndexIdentity,
    Metadata,
    Parent,
    ParentKey,
    StageRecord,
)
from retrieval_svc.store.edge.generations import EdgeGenerations
from retrieval_svc.store.protocol import PointCounts, VectorStore
from retrieval_svc.terms import count_terms

IDENTITY = IndexIdentity("f" * 16, 4, "sparse")
MOMENT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
TOPICS = ("safety", "physics")

Opener = Callable[[], Awaitable[VectorStore]]


class _Edge:
    """The first generation of a data directory."""

    def __init__(self, root: Path) -> None:
        self._stores = EdgeGenerations(root, topics=TOPICS, compact_after_changes=1)

    async def __call__(self) -> VectorStore:
        return await self._stores.open("")


OPENERS: dict[str, Callable[[Path], Opener]] = {"edge": _Edge}


@pytest.fixture(params=sorted(OPENERS))
def opener(request: pytest.FixtureRequest, tmp_path: Path) -> Opener:
    """Opens the same store again and again."""
    return OPENERS[request.param](tmp_path / "index")


@pytest.fixture
async def store(opener: Opener) -> AsyncIterator[VectorStore]:
    opened = await opener()
    yield opened
    await opened.close()


def record(stage: str = "stage-1", **metadata: object) -> StageRecord:
    values = {"title": "T", "topic": "safety", "language": "en", **metadata}
    return StageRecord(stage, f"doc of {stage}", 1, Metadata(**values), 1, 1, 5)  # type: ignore[arg-type]


def parent(stage: str, identifier: str = "c1", text: str = "Доза ≤ 20 мЗв 🩻") -> Parent:
    return Parent(
        ParentKey(stage, identifier), 3, text, ("A", "Б"), (2, 4), np.array([1, 2**31 - 1], dtype=np.uint32)
    )


def child(
    one: StageRecord, dense: list[float], terms: dict[int, float], *, identifier: str = "c1", ordinal: int = 0
) -> IndexedChild:
    place = Child(ParentKey(one.stage, identifier), one.document_id, ordinal, 1, 9, ("A", "Б"))
    return IndexedChild(place, dense, SparseVector(tuple(terms), tuple(terms.values())))


async def fill(store: VectorStore, one: StageRecord, *children: IndexedChild) -> None:
    await store.initialise(IDENTITY)
    await store.add_parents(one.document_id, [parent(one.stage)])
    await store.add_children(one.metadata.topic, one, children)
    await store.flush(one.metadata.topic)


async def test_empty(store: VectorStore) -> None:
    assert store.identity is None
    assert await store.search_dense("safety", [1.0, 0, 0, 0], limit=5, filters=Filters()) == []
    assert await store.search_sparse("safety", SparseVector((1,), (1.0,)), limit=5, filters=Filters()) == []
    assert await store.parents([ParentKey("s", "c")]) == {}
    assert await store.catalogue() == ([], [])
    assert await store.stored_stages() == {}
    counts = await store.counts()
    assert dict(counts.children) == {"safety": 0, "physics": 0}
    assert counts.parents == 0
    await store.maintain()


async def test_identity(store: VectorStore) -> None:
    await store.initialise(IDENTITY)
    await store.initialise(IDENTITY)
    assert store.identity == IDENTITY
    for other in (
        replace(IDENTITY, embedder_fingerprint="e" * 16),
        replace(IDENTITY, dimension=5),
        replace(IDENTITY, sparse_fingerprint="other"),
    ):
        with pytest.raises(PreconditionFailed) as caught:
            await store.initialise(other)
        assert caught.value.reason == "MODEL_FINGERPRINT_MISMATCH"
    assert store.identity == IDENTITY


async def test_search_scores_and_order(store: VectorStore) -> None:
    one = record()
    near = child(one, [0.8, 0.6, 0, 0], {1: 2.0, 2: 0.5}, ordinal=0)
    far = child(one, [0, 1, 0, 0], {2: 1.5}, ordinal=1)
    wordless = child(one, [-1, 0, 0, 0], {}, ordinal=2)
    await fill(store, one, far, near, wordless)

    hits = await store.search_dense("safety", [1.0, 0, 0, 0], limit=5, filters=Filters())
    assert [hit.child for hit in hits] == [near.child, far.child, wordless.child]
    assert [hit.score for hit in hits] == pytest.approx([0.8, 0.0, -1.0], abs=1e-6)
    assert len(await store.search_dense("safety", [1.0, 0, 0, 0], limit=1, filters=Filters())) == 1

    hits = await store.search_sparse(
        "safety", SparseVector((1, 2, 7), (1.0, 2.0, 9.0)), limit=5, filters=Filters()
    )
    assert [(hit.child, hit.score) for hit in hits] == [
        (near.child, pytest.approx(3.0)),
        (far.child, pytest.approx(3.0)),
    ] or [(hit.child, hit.score) for hit in hits] == [
        (far.child, pytest.approx(3.0)),
        (near.child, pytest.approx(3.0)),
    ]
    assert await store.search_sparse("safety", SparseVector((), ()), limit=5, filters=Filters()) == []
    assert await store.search_dense("physics", [1.0, 0, 0, 0], limit=5, filters=Filters()) == []


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        (Filters(languages=("en",)), {"english", "american"}),
        (Filters(languages=("en-us",)), {"american"}),
        (Filters(languages=("RU", "de")), {"russian"}),
        (Filters(source_categories=("web",)), {"english", "russian"}),
        (Filters(document_ids=("doc of russian", "doc of nobody")), {"russian"}),
        (Filters(year_from=2001), {"russian", "american"}),
        (Filters(year_to=2001), {"russian"}),
        (Filters(year_from=2001, year_to=2001), {"russian"}),
        (Filters(languages=("en",), source_categories=("web",)), {"english"}),
        (Filters(languages=("en",), year_to=2001), set()),
    ],
)
async def test_filters(store: VectorStore, filters: Filters, found: set[str]) -> None:
    for one in (
        record("english", language="en", source_category="web", year=0),
        record("american", language="en-US", source_category="legal-act", year=2020),
        record("russian", language="ru", source_category="web", year=2001),
    ):
        await fill(store, one, child(one, [1, 0, 0, 0], {1: 1.0}))
    dense = await store.search_dense("safety", [1.0, 0, 0, 0], limit=9, filters=filters)
    sparse = await store.search_sparse("safety", SparseVector((1,), (1.0,)), limit=9, filters=filters)
    assert {hit.child.parent.stage for hit in dense} == found
    assert {hit.child.parent.stage for hit in sparse} == found


async def test_parents(store: VectorStore) -> None:
    one = record()
    await fill(store, one, child(one, [1, 0, 0, 0], {1: 1.0}))
    found = await store.parents([ParentKey("stage-1", "c1"), ParentKey("stage-2", "c1")])
    assert found == {ParentKey("stage-1", "c1"): parent("stage-1")}
    assert found[ParentKey("stage-1", "c1")].terms.tolist() == [1, 2**31 - 1]


async def test_records(store: VectorStore) -> None:
    await store.initialise(IDENTITY)
    one = record(
        source="https://example.org",
        licence="CC0",
        year=2020,
        authority="FDA",
        effective_from=MOMENT,
        effective_until=MOMENT + timedelta(days=1),
        supersedes=("old-1", "old-2"),
    )
    terms = count_terms([SparseVector((5, 6), (1.0, 1.0))])
    await store.put_stage(one, terms)
    await store.put_stage(record("stage-2"), count_terms([]))
    document = DocumentRecord(one.document_id, one.stage, 1, MOMENT)
    await store.put_document(document)
    stages, documents = await store.catalogue()
    assert sorted(stages, key=lambda stage: stage.stage) == [one, record("stage-2")]
    assert documents == [document]
    read = await store.terms([one.stage, "stage-2", "nobody"])
    assert set(read) == {one.stage, "stage-2"}
    assert read[one.stage].ids.tolist() == terms.ids.tolist()

    await store.put_document(replace(document, stage="", sequence=2))
    await store.delete_stages(["stage-2"])
    stages, documents = await store.catalogue()
    assert stages == [one]
    assert documents == [replace(document, stage="", sequence=2)]


async def test_many_records(store: VectorStore) -> None:
    """More than are read at once."""
    await store.initialise(IDENTITY)
    wanted = {f"stage-{number}" for number in range(1, 70)}
    for stage in wanted:
        await store.put_stage(record(stage), count_terms([]))
    stages, _ = await store.catalogue()
    assert {stage.stage for stage in stages} == wanted
    assert set(await store.terms(sorted(wanted))) == wanted


async def test_deleting_points(store: VectorStore) -> None:
    kept, gone = record("kept"), record("gone", topic="physics")
    await fill(store, kept, child(kept, [1, 0, 0, 0], {1: 1.0}))
    await fill(store, gone, *(child(gone, [1, 0, 0, 0], {1: 1.0}, ordinal=n) for n in range(3)))
    assert await store.stored_stages() == {"kept": PointCounts(1, 1), "gone": PointCounts(1, 3)}
    await store.delete_points(["gone", "unknown"])
    assert await store.stored_stages() == {"kept": PointCounts(1, 1)}
    assert await store.search_dense("physics", [1.0, 0, 0, 0], limit=9, filters=Filters()) == []
    counts = await store.counts()
    assert (dict(counts.children), counts.parents) == ({"safety": 1, "physics": 0}, 1)


async def test_compacting_keeps_everything(store: VectorStore) -> None:
    one, gone = record(), record("gone")
    await fill(store, one, *(child(one, [1, 0, 0, 0], {n: 1.0}, ordinal=n) for n in range(200)))
    await fill(store, gone, child(gone, [0, 1, 0, 0], {1: 1.0}))
    await store.put_stage(one, count_terms([]))
    await store.delete_points(["gone"])
    await store.maintain()
    assert await store.stored_stages() == {"stage-1": PointCounts(1, 200)}
    assert len(await store.search_dense("safety", [1.0, 0, 0, 0], limit=500, filters=Filters())) == 200
    assert (await store.catalogue())[0] == [one]
    two = record("stage-2")
    await fill(store, two, child(two, [1, 0, 0, 0], {1: 1.0}))
    assert set(await store.stored_stages()) == {"stage-1", "stage-2"}


async def test_reopening(opener: Opener) -> None:
    first = await opener()
    one = record()
    await fill(first, one, child(one, [1, 0, 0, 0], {1: 1.0}))
    await first.put_stage(one, count_terms([SparseVector((1,), (1.0,))]))
    await first.put_document(DocumentRecord(one.document_id, one.stage, 7, MOMENT))
    await first.close()

    second = await opener()
    assert second.identity == IDENTITY
    stages, documents = await second.catalogue()
    assert stages == [one]
    assert documents[0].sequence == 7
    hits = await second.search_sparse("safety", SparseVector((1,), (2.0,)), limit=5, filters=Filters())
    assert [hit.score for hit in hits] == [pytest.approx(2.0)]
    assert len(await second.parents([ParentKey("stage-1", "c1")])) == 1
    await second.close()
