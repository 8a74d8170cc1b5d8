"""What every adapter of `VectorStore` must do. Add an adapter to `OPENERS` to run it through the suite.

The adapter for a Qdrant server runs twice: on the client's local mode, and over gRPC against a stand-in.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from qdrant_client import AsyncQdrantClient

from radref.errors import PreconditionFailed
from retrieval_svc.bm25 import SparseVector
from retrieval_svc.model import (
    Child,
    DocumentRecord,
    Filters,
    Hit,
    IndexedChild,
    IndexedParent,
    IndexIdentity,
    Metadata,
    Parent,
    ParentHit,
    ParentKey,
    ParentPlace,
    StageRecord,
)
from retrieval_svc.statistics import StageStatistics
from retrieval_svc.store.edge.generations import EdgeGenerations
from retrieval_svc.store.protocol import Found, PointCounts, VectorStore
from retrieval_svc.store.server.collections import Layout
from retrieval_svc.store.server.connection import Server
from retrieval_svc.store.server.generations import ServerGenerations
from retrieval_svc.terms import count_terms
from tests.retrieval.qdrant_standin import QdrantStandin, connected

# Said by the client's local mode, which needs no indexes; servers get them, see the tests of the wire.
pytestmark = pytest.mark.filterwarnings("ignore:Payload indexes have no effect:UserWarning")

IDENTITY = IndexIdentity("f" * 16, 4, "sparse")
MOMENT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
TOPICS = ("safety", "physics")

Opener = Callable[[], Awaitable[VectorStore]]


@asynccontextmanager
async def _edge(root: Path) -> AsyncIterator[Opener]:
    """The first generation of a data directory."""
    stores = EdgeGenerations(root, topics=TOPICS, compact_after_changes=1)
    yield lambda: stores.open("")
    await stores.close()


@asynccontextmanager
async def _memory(root: Path) -> AsyncIterator[Opener]:
    """The client's local mode; opened again is another adapter on the same client."""
    client = AsyncQdrantClient(":memory:")
    yield lambda: _on(Server(client, search_timeout=20, timeout=20)).open("")
    await client.close()


@asynccontextmanager
async def _wire(root: Path) -> AsyncIterator[Opener]:
    standin = QdrantStandin()
    await standin.start()
    async with connected(standin) as server:
        yield lambda: _on(server).open("")
    await standin.stop()


def _on(server: Server) -> ServerGenerations:
    return ServerGenerations(server, prefix="test", topics=TOPICS, layout=Layout())


OPENERS: dict[str, Callable[[Path], AbstractAsyncContextManager[Opener]]] = {
    "edge": _edge,
    "qdrant": _memory,
    "qdrant over gRPC": _wire,
}


@pytest.fixture(params=sorted(OPENERS))
async def opener(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Opener]:
    """Opens the same store again and again."""
    async with OPENERS[request.param](tmp_path / "index") as opened:
        yield opened


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
    place = Child(ParentKey(one.stage, identifier), one.document_id, ordinal, 1, 9, ("A", "Б"), "key of c1")
    return IndexedChild(place, dense, SparseVector(tuple(terms), tuple(terms.values())))


def indexed(one: StageRecord, terms: dict[int, float], *, identifier: str = "c1") -> IndexedParent:
    sparse = SparseVector(tuple(terms), tuple(terms.values()))
    return IndexedParent(parent(one.stage, identifier), f"key of {identifier}", sparse)


def statistics_of(terms: dict[int, int], vector: Sequence[float] = (0.5, -0.5, 0, 0)) -> StageStatistics:
    """Of parents that hold these terms so often, and half as many children."""
    parents = [SparseVector((term,), (1.0,)) for term, count in terms.items() for _ in range(count)]
    return StageStatistics(
        count_terms(parents[::2]), count_terms(parents), np.array(vector, dtype=np.float32)
    )


def hits(found: Found[Hit]) -> list[tuple[Child, float]]:
    assert found.seconds >= 0
    return [(hit.child, hit.score) for hit in found.hits]


def places(found: Found[ParentHit]) -> list[tuple[str, str]]:
    """Stage and citation of the parents found."""
    assert found.seconds >= 0
    return [(hit.place.key.stage, hit.place.key.citation_id) for hit in found.hits]


async def fill(store: VectorStore, one: StageRecord, *children: IndexedChild) -> None:
    await store.initialise(IDENTITY)
    await store.add_parents(one, [indexed(one, {1: 1.0})])
    await store.add_children(one.metadata.topic, one, children)
    await store.flush(one.metadata.topic)


async def test_empty(store: VectorStore) -> None:
    assert store.identity is None
    term = SparseVector((1,), (1.0,))
    assert (await store.search_dense("safety", [1.0, 0, 0, 0], limit=5, filters=Filters())).hits == []
    assert (await store.search_sparse("safety", term, limit=5, filters=Filters())).hits == []
    assert (await store.search_parents(TOPICS, term, limit=5, filters=Filters())).hits == []
    assert await store.statistics(["s"]) == {}
    assert await store.parents([ParentKey("s", "c")]) == {}
    assert await store.parents_of(["s"]) == []
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

    found = hits(await store.search_dense("safety", [1.0, 0, 0, 0], limit=5, filters=Filters()))
    assert [one for one, _ in found] == [near.child, far.child, wordless.child]
    assert [score for _, score in found] == pytest.approx([0.8, 0.0, -1.0], abs=1e-6)
    assert len(hits(await store.search_dense("safety", [1.0, 0, 0, 0], limit=1, filters=Filters()))) == 1

    query = SparseVector((1, 2, 7), (1.0, 2.0, 9.0))
    found = hits(await store.search_sparse("safety", query, limit=5, filters=Filters()))
    # Equal scores come in any order.
    assert {one for one, _ in found} == {near.child, far.child}
    assert [score for _, score in found] == pytest.approx([3.0, 3.0])
    assert len(hits(await store.search_sparse("safety", query, limit=1, filters=Filters()))) == 1
    assert hits(await store.search_sparse("safety", SparseVector((), ()), limit=5, filters=Filters())) == []
    assert hits(await store.search_dense("physics", [1.0, 0, 0, 0], limit=5, filters=Filters())) == []


async def test_children_of_parents(store: VectorStore) -> None:
    one, other = record(), record("stage-2")
    wanted = [child(one, [0, 1, 0, 0], {1: 1.0}, identifier="c2", ordinal=n) for n in range(3)]
    await fill(store, one, child(one, [1, 0, 0, 0], {1: 1.0}), *wanted)
    same_citation = child(other, [0, 1, 0, 0], {1: 1.0}, identifier="c2")
    await fill(store, other, same_citation)

    async def found(limit: int, *parents: ParentKey, filters: Filters = Filters()) -> set[Child]:  # noqa: B008
        query = [1.0, 0.0, 0.0, 0.0]
        answer = await store.search_dense("safety", query, limit=limit, filters=filters, parents=parents)
        return {child for child, _ in hits(answer)}

    assert await found(9, ParentKey("stage-1", "c2")) == {one.child for one in wanted}
    assert len(await found(2, ParentKey("stage-1", "c2"))) == 2
    assert await found(9, ParentKey("stage-2", "c2"), ParentKey("stage-2", "c9")) == {same_citation.child}
    assert await found(9, ParentKey("stage-9", "c2")) == set()
    assert await found(9, ParentKey("stage-2", "c2"), filters=Filters(languages=("ru",))) == set()


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
    parents = await store.search_parents(["safety"], SparseVector((1,), (1.0,)), limit=9, filters=filters)
    assert {hit.child.parent.stage for hit in dense.hits} == found
    assert {hit.child.parent.stage for hit in sparse.hits} == found
    assert {hit.place.key.stage for hit in parents.hits} == found


async def test_search_parents(store: VectorStore) -> None:
    one, other = record(language="en-GB"), record("stage-2", topic="physics", language="ru")
    await store.initialise(IDENTITY)
    await store.add_parents(
        one,
        [
            indexed(one, {1: 2.0, 2: 1.0}),
            indexed(one, {2: 3.0}, identifier="c2"),
            indexed(one, {}, identifier="c3"),
        ],
    )
    await store.add_parents(other, [indexed(other, {1: 1.0})])
    await store.flush("safety")
    query = SparseVector((1, 2), (1.0, 0.5))

    found = await store.search_parents(TOPICS, query, limit=9, filters=Filters())
    assert places(found) == [("stage-1", "c1"), ("stage-1", "c2"), ("stage-2", "c1")]
    assert [hit.score for hit in found.hits] == pytest.approx([2.5, 1.5, 1.0])
    assert found.hits[0].place == ParentPlace(
        ParentKey("stage-1", "c1"), one.document_id, "safety", "key of c1"
    )

    async def stages(topics: Sequence[str] = TOPICS, **options: object) -> list[tuple[str, str]]:
        arguments = {"limit": 9, "filters": Filters(), **options}
        return places(await store.search_parents(topics, query, **arguments))  # type: ignore[arg-type]

    assert await stages(limit=1) == [("stage-1", "c1")]
    assert await stages(["physics"]) == [("stage-2", "c1")]
    assert await stages(["glossary"]) == []
    assert await stages([]) == []
    assert await stages(filters=Filters(languages=("en",))) == [("stage-1", "c1"), ("stage-1", "c2")]
    assert await stages(["physics"], filters=Filters(languages=("en",))) == []
    named = [ParentKey("stage-2", "c1"), ParentKey("stage-1", "c2"), ParentKey("stage-1", "c3")]
    assert await stages(parents=named) == [("stage-1", "c2"), ("stage-2", "c1")]
    assert await stages(["safety"], parents=named[:1]) == []
    nothing = await store.search_parents(TOPICS, SparseVector((), ()), limit=9, filters=Filters())
    assert nothing.hits == []


async def test_parents(store: VectorStore) -> None:
    one = record()
    await fill(store, one, child(one, [1, 0, 0, 0], {1: 1.0}))
    found = await store.parents([ParentKey("stage-1", "c1"), ParentKey("stage-2", "c1")])
    assert found == {ParentKey("stage-1", "c1"): parent("stage-1")}
    assert found[ParentKey("stage-1", "c1")].terms.tolist() == [1, 2**31 - 1]


async def test_parents_of_stagings(store: VectorStore) -> None:
    """More than are read at once, and nothing of other stagings."""
    one, two, other = record(), record("stage-2", topic="physics"), record("stage-3")
    await store.initialise(IDENTITY)
    names = [f"c{number}" for number in range(300)]
    await store.add_parents(one, [indexed(one, {1: 1.0}, identifier=name) for name in names])
    for stage in (two, other):
        await store.add_parents(stage, [indexed(stage, {1: 1.0})])
    await store.flush("safety")
    found = await store.parents_of(["stage-1", "stage-2", "nobody"])
    assert sorted(parent.key for parent in found) == sorted(
        [*(ParentKey("stage-1", name) for name in names), ParentKey("stage-2", "c1")]
    )
    assert parent("stage-2") in found
    assert await store.parents_of([]) == []


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
    await store.put_stage(one, statistics_of({5: 1}))
    await store.put_stage(record("stage-2"), statistics_of({}))
    document = DocumentRecord(one.document_id, one.stage, 1, MOMENT)
    await store.put_document(document)
    stages, documents = await store.catalogue()
    assert sorted(stages, key=lambda stage: stage.stage) == [one, record("stage-2")]
    assert documents == [document]
    assert set(await store.statistics([one.stage, "stage-2", "nobody"])) == {one.stage, "stage-2"}

    await store.put_document(replace(document, stage="", sequence=2))
    await store.delete_stages(["stage-2"])
    stages, documents = await store.catalogue()
    assert stages == [one]
    assert documents == [replace(document, stage="", sequence=2)]


async def test_statistics(store: VectorStore) -> None:
    await store.initialise(IDENTITY)
    one = record()
    written = statistics_of({5: 3, 2**31 - 1: 2}, (1e-8, -2.5, 1 / 3, 12345.0))
    await store.put_stage(one, written)
    (read,) = (await store.statistics([one.stage])).values()
    for name in ("children", "parents"):
        mine, other = getattr(written, name), getattr(read, name)
        assert other.texts == mine.texts > 0
        assert dict(zip(other.ids.tolist(), other.counts.tolist(), strict=True)) == dict(
            zip(mine.ids.tolist(), mine.counts.tolist(), strict=True)
        )
    assert read.vector_sum.dtype == np.float32
    assert read.vector_sum.tolist() == written.vector_sum.tolist()


async def test_many_records(store: VectorStore) -> None:
    """More than are read at once."""
    await store.initialise(IDENTITY)
    wanted = {f"stage-{number}" for number in range(1, 70)}
    for stage in wanted:
        await store.put_stage(record(stage), statistics_of({}))
    stages, _ = await store.catalogue()
    assert {stage.stage for stage in stages} == wanted
    assert set(await store.statistics(sorted(wanted))) == wanted


async def test_deleting_points(store: VectorStore) -> None:
    kept, gone = record("kept"), record("gone", topic="physics")
    await fill(store, kept, child(kept, [1, 0, 0, 0], {1: 1.0}))
    await fill(store, gone, *(child(gone, [1, 0, 0, 0], {1: 1.0}, ordinal=n) for n in range(3)))
    assert await store.stored_stages() == {"kept": PointCounts(1, 1), "gone": PointCounts(1, 3)}
    await store.delete_points(["gone", "unknown"])
    assert await store.stored_stages() == {"kept": PointCounts(1, 1)}
    assert hits(await store.search_dense("physics", [1.0, 0, 0, 0], limit=9, filters=Filters())) == []
    assert places(
        await store.search_parents(TOPICS, SparseVector((1,), (1.0,)), limit=9, filters=Filters())
    ) == [("kept", "c1")]
    counts = await store.counts()
    assert (dict(counts.children), counts.parents) == ({"safety": 1, "physics": 0}, 1)


async def test_compacting_keeps_everything(store: VectorStore) -> None:
    one, gone = record(), record("gone")
    await fill(store, one, *(child(one, [1, 0, 0, 0], {n: 1.0}, ordinal=n) for n in range(200)))
    await fill(store, gone, child(gone, [0, 1, 0, 0], {1: 1.0}))
    await store.put_stage(one, statistics_of({}))
    await store.delete_points(["gone"])
    await store.maintain()
    assert await store.stored_stages() == {"stage-1": PointCounts(1, 200)}
    found = await store.search_dense("safety", [1.0, 0, 0, 0], limit=500, filters=Filters())
    assert len(hits(found)) == 200
    assert (await store.catalogue())[0] == [one]
    two = record("stage-2")
    await fill(store, two, child(two, [1, 0, 0, 0], {1: 1.0}))
    assert set(await store.stored_stages()) == {"stage-1", "stage-2"}


async def test_reopening(opener: Opener) -> None:
    first = await opener()
    one = record()
    await fill(first, one, child(one, [1, 0, 0, 0], {1: 1.0}))
    await first.put_stage(one, statistics_of({1: 1}))
    await first.put_document(DocumentRecord(one.document_id, one.stage, 7, MOMENT))
    await first.close()

    second = await opener()
    assert second.identity == IDENTITY
    stages, documents = await second.catalogue()
    assert stages == [one]
    assert documents[0].sequence == 7
    found = await second.search_sparse("safety", SparseVector((1,), (2.0,)), limit=5, filters=Filters())
    assert [score for _, score in hits(found)] == [pytest.approx(2.0)]
    assert len(await second.parents([ParentKey("stage-1", "c1")])) == 1
    await second.close()
