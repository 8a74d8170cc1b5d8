"""The store on a Qdrant server when the wire or the server fails, against a stand-in over real gRPC."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import grpc
import pytest
from qdrant_client import grpc as api
from structlog.testing import capture_logs

from radref.errors import Unavailable
from retrieval_svc.bm25 import SparseVector
from retrieval_svc.model import Child, DocumentRecord, Filters, ParentKey
from retrieval_svc.store.payloads import child_from
from retrieval_svc.store.protocol import VectorStore
from retrieval_svc.store.server import points
from retrieval_svc.store.server.collections import Layout
from retrieval_svc.store.server.connection import Server
from retrieval_svc.store.server.generations import ServerGenerations
from retrieval_svc.store.server.point_search import PointSearch
from tests.retrieval.qdrant_standin import QdrantStandin, Seen, always, connected, once
from tests.retrieval.test_retrieval_store_contract import (
    MOMENT,
    TOPICS,
    child,
    fill,
    hits,
    record,
    statistics_of,
)

SECRET = "Иванов Иван, 1961"
VECTOR = [1.0, 0.0, 0.0, 0.0]
TERM = SparseVector((1,), (1.0,))


def on(server: Server, **layout: Any) -> ServerGenerations:
    return ServerGenerations(server, prefix="test", topics=TOPICS, layout=Layout(**layout))


@dataclass
class Filled:
    """A stand-in with one document in "safety", and the store on it."""

    standin: QdrantStandin
    server: Server
    store: VectorStore

    async def search(self) -> int:
        return len(hits(await self.store.search_dense("safety", VECTOR, limit=5, filters=Filters())))


@pytest.fixture
async def standin() -> AsyncIterator[QdrantStandin]:
    made = QdrantStandin()
    await made.start()
    yield made
    await made.stop()


@pytest.fixture
async def filled(standin: QdrantStandin) -> AsyncIterator[Filled]:
    async with connected(standin) as server:
        store = await on(server).open("")
        one = record()
        await fill(store, one, child(one, VECTOR, {1: 1.0}))
        await store.put_stage(one, statistics_of({1: 2}))
        await store.put_document(DocumentRecord(one.document_id, one.stage, 1, MOMENT))
        standin.seen.clear()
        yield Filled(standin, server, store)


Call = Callable[[VectorStore], Awaitable[object]]
READS: dict[str, tuple[str, Call]] = {
    "search_dense": (
        "Points.Query",
        lambda store: store.search_dense("safety", VECTOR, limit=5, filters=Filters()),
    ),
    "search_sparse": (
        "Points.Query",
        lambda store: store.search_sparse("safety", TERM, limit=5, filters=Filters()),
    ),
    "search_parents": (
        "Points.Query",
        lambda store: store.search_parents(["safety"], TERM, limit=5, filters=Filters()),
    ),
    "parents": ("Points.Get", lambda store: store.parents([ParentKey("stage-1", "c1")])),
    "parents_of": ("Points.Scroll", lambda store: store.parents_of(["stage-1"])),
    "statistics": ("Points.Get", lambda store: store.statistics(["stage-1"])),
    "catalogue": ("Points.Scroll", lambda store: store.catalogue()),
    "stored_stages": ("Points.Facet", lambda store: store.stored_stages()),
    "counts": ("Points.Count", lambda store: store.counts()),
}
WRITES: dict[str, tuple[str, Call]] = {
    "add_children": (
        "Points.Upsert",
        lambda store: store.add_children("safety", record(), [child(record(), VECTOR, {1: 1.0})]),
    ),
    "put_stage": ("Points.Upsert", lambda store: store.put_stage(record(), statistics_of({}))),
    "delete_stages": ("Points.Delete", lambda store: store.delete_stages(["stage-1"])),
    "delete_points": ("Points.Delete", lambda store: store.delete_points(["stage-1"])),
}
REPLACED: dict[str, tuple[str, Call]] = {
    "put_document": (
        "Points.Upsert",
        lambda store: store.put_document(DocumentRecord("d", "stage-1", 2, MOMENT)),
    ),
}
ALL = READS | WRITES | REPLACED


@pytest.mark.parametrize("name", ALL)
async def test_every_failure_is_unavailable(filled: Filled, name: str) -> None:
    method, call = ALL[name]
    for status in (
        grpc.StatusCode.UNAVAILABLE,
        grpc.StatusCode.DEADLINE_EXCEEDED,
        grpc.StatusCode.RESOURCE_EXHAUSTED,
        grpc.StatusCode.UNAUTHENTICATED,
        grpc.StatusCode.INTERNAL,
        grpc.StatusCode.INVALID_ARGUMENT,
        grpc.StatusCode.NOT_FOUND,
    ):
        filled.standin.fail = always(method, status)
        with capture_logs() as logs, pytest.raises(Unavailable) as caught:
            await call(filled.store)
        assert caught.value.reason == "BACKEND_UNAVAILABLE"
        assert caught.value.metadata == {"backend": "vector-store"}
        assert SECRET not in caught.value.message
        if status in (grpc.StatusCode.INTERNAL, grpc.StatusCode.INVALID_ARGUMENT):
            # What a server says about a request may quote it.
            assert SECRET not in str(logs)
        assert any(entry["event"] == "vector store failed" and entry["code"] == status.name for entry in logs)


@pytest.mark.parametrize("name", READS | WRITES)
async def test_not_there_once_is_tried_again(filled: Filled, name: str) -> None:
    method, call = (READS | WRITES)[name]
    filled.standin.fail = once(method)
    await call(filled.store)


async def test_search_is_tried_again_once_only(filled: Filled) -> None:
    filled.standin.fail = once("Points.Query")
    assert await filled.search() == 1
    assert len(filled.standin.of("Points.Query")) == 2
    filled.standin.seen.clear()
    filled.standin.fail = always("Points.Query", grpc.StatusCode.UNAVAILABLE)
    with pytest.raises(Unavailable, match="does not answer"):
        await filled.search()
    assert len(filled.standin.of("Points.Query")) == 2


async def test_a_record_that_is_replaced_is_written_once_only(filled: Filled) -> None:
    """The first attempt may arrive after a later change."""
    filled.standin.fail = once("Points.Upsert")
    with pytest.raises(Unavailable):
        await filled.store.put_document(DocumentRecord("d", "stage-1", 2, MOMENT))
    assert len(filled.standin.of("Points.Upsert")) == 1


@pytest.mark.parametrize("status", [grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.INTERNAL])
async def test_a_server_that_is_there_is_not_asked_twice(filled: Filled, status: grpc.StatusCode) -> None:
    filled.standin.fail = always("Points.Query", status)
    with pytest.raises(Unavailable):
        await filled.search()
    assert len(filled.standin.of("Points.Query")) == 1


async def test_overload_says_when_to_come_back(filled: Filled) -> None:
    filled.standin.fail = always("Points.Query", grpc.StatusCode.RESOURCE_EXHAUSTED)
    filled.standin.trailing = (("retry-after", "7"),)
    with pytest.raises(Unavailable, match="overloaded") as caught:
        await filled.search()
    assert caught.value.retry_after == 7


async def test_slow_search(filled: Filled) -> None:
    """The caller's time is kept, the server is told how long it may work, other calls may take longer."""
    async with connected(filled.standin, search_timeout=0.1, timeout=20) as server:
        store = await on(server).open("")
        filled.standin.held = asyncio.Event()
        with pytest.raises(Unavailable, match="did not answer in time"):
            await store.search_dense("safety", VECTOR, limit=5, filters=Filters())
        counting = asyncio.create_task(store.counts())
        while not filled.standin.of("Points.Count"):
            await asyncio.sleep(0.01)
        filled.standin.held.set()
        assert (await counting).parents == 1
    (seen,) = filled.standin.of("Points.Query")
    assert seen.request.timeout == 1
    assert seen.time_remaining < 2


async def test_slow_write(filled: Filled) -> None:
    async with connected(filled.standin, search_timeout=20, timeout=0.1) as server:
        filled.standin.held = asyncio.Event()
        with pytest.raises(Unavailable, match="did not answer in time"):
            await on(server).open("")
        filled.standin.held.set()


async def test_a_write_that_the_server_did_not_finish(filled: Filled) -> None:
    """It answers that it took it; nobody may rely on that."""
    for status in (api.UpdateStatus.Acknowledged, api.UpdateStatus.WaitTimeout):

        def spoil(seen: Seen, response: Any, status: Any = status) -> None:
            if seen.method == "Points.Upsert":
                response.result.status = status

        filled.standin.spoil = spoil
        with pytest.raises(Unavailable, match="did not finish"):
            await filled.store.put_document(DocumentRecord("d", "stage-1", 2, MOMENT))


async def test_dies_in_the_middle_of_an_upsert(filled: Filled) -> None:
    """What was not acknowledged is given up; staging it again once the server is back works."""
    two = record("stage-2")
    filled.standin.held = asyncio.Event()
    writing = asyncio.create_task(fill(filled.store, two, child(two, VECTOR, {1: 1.0})))
    while not filled.standin.of("Points.Upsert"):
        await asyncio.sleep(0.01)
    await filled.standin.stop()
    with pytest.raises(Unavailable):
        await writing
    filled.standin.held = None
    await filled.standin.start()
    async with asyncio.timeout(20):
        while True:
            try:
                await fill(filled.store, two, child(two, VECTOR, {1: 1.0}))
                break
            except Unavailable:
                await asyncio.sleep(0.05)
    assert set(await filled.store.stored_stages()) == {"stage-1", "stage-2"}
    assert await filled.search() == 2


async def test_a_caller_that_goes_away_is_no_failure(filled: Filled) -> None:
    filled.standin.held = asyncio.Event()
    searching = asyncio.create_task(filled.search())
    while not filled.standin.of("Points.Query"):
        await asyncio.sleep(0.01)
    searching.cancel()
    with pytest.raises(asyncio.CancelledError):
        await searching
    filled.standin.held.set()
    assert await filled.search() == 1


def _without(method: str, *keys: str) -> Callable[[Seen, Any], None]:
    """Takes keys out of every payload that a method answers with; none = the whole payload."""

    def spoil(seen: Seen, response: Any) -> None:
        for point in response.result if seen.method == method else ():
            for key in keys or list(point.payload):
                point.payload.pop(key, None)

    return spoil


def _replacing(method: str, key: str, value: Any) -> Callable[[Seen, Any], None]:
    def spoil(seen: Seen, response: Any) -> None:
        for point in response.result if seen.method == method else ():
            if key in point.payload:
                point.payload[key].CopyFrom(value)

    return spoil


GARBAGE = api.Value(string_value="garbage")
NUMBER = api.Value(integer_value=7)


@pytest.mark.parametrize(
    ("name", "spoil"),
    [
        *((name, _without("Points.Get")) for name in ("search_dense", "search_sparse", "search_parents")),
        *((name, _without("Points.Get")) for name in ("parents", "statistics")),
        ("catalogue", _without("Points.Scroll")),
        *(("search_dense", _without("Points.Get", key)) for key in ("stage", "start", "parent_text")),
        ("search_dense", _replacing("Points.Get", "start", GARBAGE)),
        ("search_dense", _replacing("Points.Get", "section_path", GARBAGE)),
        ("search_dense", _replacing("Points.Get", "document_id", NUMBER)),
        ("search_parents", _without("Points.Get", "topic")),
        ("parents", _without("Points.Get", "pages")),
        ("parents", _replacing("Points.Get", "terms", GARBAGE)),
        ("parents", _replacing("Points.Get", "pages", NUMBER)),
        ("parents", _replacing("Points.Get", "text", NUMBER)),
        ("statistics", _replacing("Points.Get", "statistics", NUMBER)),
        ("statistics", _without("Points.Get", "statistics")),
        ("catalogue", _without("Points.Scroll", "kind")),
        ("catalogue", _without("Points.Scroll", "metadata")),
        ("catalogue", _without("Points.Scroll", "changed_at")),
        ("catalogue", _replacing("Points.Scroll", "changed_at", GARBAGE)),
        ("catalogue", _replacing("Points.Scroll", "kind", GARBAGE)),
    ],
)
async def test_damaged_records(filled: Filled, name: str, spoil: Callable[[Seen, Any], None]) -> None:
    filled.standin.spoil = spoil
    with pytest.raises(Unavailable, match="may be damaged"):
        await READS[name][1](filled.store)


async def test_content_of_a_point_is_read_once(filled: Filled) -> None:
    assert await filled.search() == 1
    assert len(filled.standin.of("Points.Get")) == 1
    assert await filled.search() == 1
    assert len(filled.standin.of("Points.Get")) == 1
    assert not any(seen.request.with_payload.enable for seen in filled.standin.of("Points.Query"))


async def test_a_point_that_is_deleted_while_it_is_searched(filled: Filled) -> None:
    def spoil(seen: Seen, response: Any) -> None:
        if seen.method == "Points.Get":
            del response.result[:]

    filled.standin.spoil = spoil
    assert await filled.search() == 0


async def test_more_points_than_are_kept(standin: QdrantStandin) -> None:
    async with connected(standin) as server:
        store = await on(server).open("")
        one = record()
        await fill(store, one, *(child(one, VECTOR, {1: 1.0}, ordinal=n) for n in range(9)))
        search = PointSearch(server, points.CHILD, child_from, capacity=2)

        async def found() -> dict[Child, float]:
            hits, _ = await search.search("test-first-safety", VECTOR, using="dense", limit=9, condition=None)
            return dict(hits)

        first = await found()
        assert len(first) == 9
        assert await found() == first


async def test_every_write_waits_and_goes_through_the_leader(filled: Filled) -> None:
    for _, call in (WRITES | REPLACED).values():
        await call(filled.store)
    changed = [*filled.standin.of("Points.Upsert"), *filled.standin.of("Points.Delete")]
    assert len(changed) == 6  # deleting points concerns two collections
    for seen in changed:
        assert seen.request.wait
        assert seen.request.ordering.type == api.WriteOrderingType.Strong
        assert seen.request.timeout == 20
