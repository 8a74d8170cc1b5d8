"""The index on a Qdrant server: finding it, its collections and its generations."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import grpc
import pytest
from qdrant_client import grpc as api
from structlog.testing import capture_logs

from radref.errors import PreconditionFailed, Unavailable
from retrieval_svc.model import Filters, IndexIdentity
from retrieval_svc.store import payloads
from retrieval_svc.store.protocol import GenerationState, RetiredGeneration
from retrieval_svc.store.server import points
from retrieval_svc.store.server.collections import Layout
from retrieval_svc.store.server.conditions import CHILD_FIELDS, PARENT_FIELDS
from retrieval_svc.store.server.connection import Server, open_client
from retrieval_svc.store.server.generations import ServerGenerations
from tests.inference.certificates import authority_and_server
from tests.retrieval.qdrant_standin import QdrantStandin, Seen, always, connected
from tests.retrieval.test_retrieval_store_contract import IDENTITY, TOPICS, child, fill, record

KEY = "a-very-secret-key"
STATE = GenerationState(
    "one", "two", "f" * 16, (RetiredGeneration("three", "e" * 16), RetiredGeneration("4", ""))
)


@pytest.fixture
async def standin() -> AsyncIterator[QdrantStandin]:
    made = QdrantStandin()
    await made.start()
    yield made
    await made.stop()


def on(server: Server, *, prefix: str = "test", topics: Any = TOPICS, **layout: Any) -> ServerGenerations:
    return ServerGenerations(server, prefix=prefix, topics=topics, layout=Layout(**layout))


async def test_nothing_listens() -> None:
    standin = QdrantStandin()
    await standin.start()
    await standin.stop()
    async with connected(standin) as server:
        with pytest.raises(Unavailable, match="does not answer") as caught:
            await on(server).state()
    assert caught.value.reason == "BACKEND_UNAVAILABLE"


async def _hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.close()


async def _answer_http_1(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
    await writer.drain()
    writer.close()


@pytest.mark.parametrize("behaviour", [_hang_up, _answer_http_1])
async def test_something_else_listens(
    behaviour: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]],
) -> None:
    other = await asyncio.start_server(behaviour, "127.0.0.1", 0)
    async with connected(QdrantStandin(port=other.sockets[0].getsockname()[1])) as server:
        with pytest.raises(Unavailable):
            await on(server).state()
    other.close()
    await other.wait_closed()


async def test_another_grpc_server_listens() -> None:
    other = grpc.aio.server()
    port = other.add_insecure_port("127.0.0.1:0")
    await other.start()
    async with connected(QdrantStandin(port=port)) as server:
        with pytest.raises(PreconditionFailed, match="no Qdrant server"):
            await on(server).state()
    await other.stop(None)


@pytest.mark.parametrize("version", ["1.11.5", "0.9.0", "", "garbage"])
async def test_too_old_server(standin: QdrantStandin, version: str) -> None:
    standin.version = version
    async with connected(standin) as server:
        with pytest.raises(PreconditionFailed, match=r"needs 1\.12 or newer"):
            await on(server).open("")


@pytest.mark.filterwarnings("ignore:Api key is used with an insecure connection")
async def test_refused_key(standin: QdrantStandin) -> None:
    standin.api_key = KEY
    for key in ("", "another"):
        async with connected(standin, api_key=key) as server:
            with pytest.raises(PreconditionFailed, match="refuses the API key"):
                await on(server).state()


async def test_key_without_the_rights(standin: QdrantStandin) -> None:
    standin.fail = always("Collections.List", grpc.StatusCode.PERMISSION_DENIED)
    async with connected(standin) as server:
        with pytest.raises(PreconditionFailed, match="does not give the right"):
            await on(server).state()


@pytest.fixture
async def encrypted(tmp_path: Path) -> AsyncIterator[tuple[QdrantStandin, bytes]]:
    """A stand-in that wants TLS and a key, and the authority to trust."""
    authority, certificate, key = authority_and_server(tmp_path)
    credentials = grpc.ssl_server_credentials([(key.read_bytes(), certificate.read_bytes())])
    made = QdrantStandin(api_key=KEY, credentials=credentials)
    await made.start()
    yield made, authority.read_bytes()
    await made.stop()


async def test_tls_and_key(encrypted: tuple[QdrantStandin, bytes]) -> None:
    standin, authority = encrypted
    address = standin.address(tls=True, authority=authority, api_key=KEY)
    assert KEY not in repr(address)
    with capture_logs() as logs:
        async with connected(standin, tls=True, authority=authority, api_key=KEY) as server:
            store = await on(server).open("")
            await fill(store, record(), child(record(), [1, 0, 0, 0], {1: 1.0}))
            standin.fail = always("Points.Count", grpc.StatusCode.INTERNAL)
            with pytest.raises(Unavailable) as caught:
                await store.counts()
    assert KEY not in str(logs)
    assert KEY not in repr(caught.value)


async def test_wrong_authority_or_no_tls(encrypted: tuple[QdrantStandin, bytes], tmp_path: Path) -> None:
    standin, _ = encrypted
    folder = tmp_path / "other"
    folder.mkdir()
    other, _, _ = authority_and_server(folder)
    for tls, trusted in ((True, other.read_bytes()), (True, b""), (False, b"")):
        async with connected(standin, tls=tls, authority=trusted) as server:
            with pytest.raises(Unavailable, match="does not answer"):
                await on(server).state()
    assert standin.seen == []


async def test_collections(standin: QdrantStandin) -> None:
    async with connected(standin) as server:
        store = await on(server, shards=3, replicas=2, on_disk=True).open("")
        await fill(store, record(), child(record(), [1, 0, 0, 0], {1: 1.0}))
    made = {seen.request.collection_name: seen.request for seen in standin.of("Collections.Create")}
    assert set(made) == {"test-first-catalogue", "test-first-parents", "test-first-safety"}
    for request in made.values():
        assert (request.shard_number, request.replication_factor, request.write_consistency_factor) == (
            3,
            2,
            2,
        )
    children = made["test-first-safety"]
    dense = children.vectors_config.params_map.map["dense"]
    assert (dense.size, dense.distance, dense.on_disk) == (4, api.Distance.Cosine, True)
    sparse = children.sparse_vectors_config.map["bm25"]
    assert sparse.index.on_disk
    assert not sparse.HasField("modifier")
    assert children.hnsw_config.on_disk
    assert standin.indexed == {
        "test-first-parents": set(PARENT_FIELDS),
        "test-first-safety": set(CHILD_FIELDS),
    }
    assert all(seen.request.wait for seen in standin.of("Points.CreateFieldIndex"))


async def test_layout_defaults_are_the_servers(standin: QdrantStandin) -> None:
    async with connected(standin) as server:
        store = await on(server).open("")
        await fill(store, record(), child(record(), [1, 0, 0, 0], {1: 1.0}))
    request = standin.of("Collections.Create")[-1].request
    assert not request.HasField("shard_number")
    assert not request.HasField("hnsw_config")
    assert not request.HasField("quantization_config")


async def test_each_filter_field_has_an_index() -> None:
    one = record()
    child_payload = payloads.child_payload(one, child(one, [1, 0, 0, 0], {1: 1.0}))
    assert set(CHILD_FIELDS) <= set(child_payload)
    assert set(points.CHILD) == set(payloads.CHILD_KEYS)
    assert set(points.PLACE) == set(payloads.PLACE_KEYS)


@pytest.mark.parametrize(
    "method", ["Collections.Create", "Points.CreateFieldIndex", "Points.Upsert", "Collections.Get"]
)
async def test_making_an_index_is_taken_up_where_it_failed(standin: QdrantStandin, method: str) -> None:
    async with connected(standin) as server:
        store = await on(server).open("")
        standin.fail = always(method, grpc.StatusCode.INTERNAL)
        with pytest.raises(Unavailable):
            await store.initialise(IDENTITY)
        assert store.identity is None
        standin.fail = lambda seen: None
        # Another process takes it up.
        again = await on(server).open("")
        await fill(again, record(), child(record(), [1, 0, 0, 0], {1: 1.0}))
        assert standin.indexed == {
            "test-first-parents": set(PARENT_FIELDS),
            "test-first-safety": set(CHILD_FIELDS),
        }
        assert (await again.counts()).parents == 1


async def test_lost_answers_while_collections_are_made(standin: QdrantStandin) -> None:
    standin.lost = frozenset({"Collections.Create"})
    async with connected(standin) as server:
        store = await on(server).open("")
        await fill(store, record(), child(record(), [1, 0, 0, 0], {1: 1.0}))
        assert store.identity == IDENTITY


async def test_indexes_missing_in_a_restored_collection_are_made(standin: QdrantStandin) -> None:
    async with connected(standin) as server:
        store = await on(server).open("")
        await fill(store, record(), child(record(), [1, 0, 0, 0], {1: 1.0}))
        standin.indexed["test-first-safety"] = {"stage"}
        standin.seen.clear()
        await on(server).open("")
    assert standin.indexed["test-first-safety"] == set(CHILD_FIELDS)
    made = {seen.request.field_name for seen in standin.of("Points.CreateFieldIndex")}
    assert made == set(CHILD_FIELDS) - {"stage"}


async def test_a_caller_that_goes_away_while_collections_are_made(standin: QdrantStandin) -> None:
    async with connected(standin) as server:
        store = await on(server).open("")
        standin.held = asyncio.Event()
        making = asyncio.create_task(store.initialise(IDENTITY))
        while not standin.of("Collections.CollectionExists"):
            await asyncio.sleep(0.01)
        making.cancel()
        with pytest.raises(asyncio.CancelledError):
            await making
        standin.held.set()
        await store.initialise(IDENTITY)
        assert (await store.counts()).parents == 0
        with pytest.raises(PreconditionFailed):
            await store.initialise(replace(IDENTITY, dimension=5))


async def test_topics_may_be_added_not_dropped(standin: QdrantStandin) -> None:
    async with connected(standin) as server:
        store = await on(server).open("")
        await fill(store, record(), child(record(), [1, 0, 0, 0], {1: 1.0}))
        with pytest.raises(PreconditionFailed, match="no longer name: safety"):
            await on(server, topics=("physics",)).open("")
        more = await on(server, topics=(*TOPICS, "anatomy")).open("")
        assert dict((await more.counts()).children) == {"safety": 1, "physics": 0, "anatomy": 0}
        found = await more.search_dense("anatomy", [1.0, 0, 0, 0], limit=1, filters=Filters())
        assert found.hits == []


def test_reserved_topics() -> None:
    client = open_client(QdrantStandin().address(), timeout=1)
    with pytest.raises(PreconditionFailed, match="parents"):
        on(Server(client, search_timeout=1, timeout=1), topics=("safety", "parents"))


async def test_generations(standin: QdrantStandin) -> None:
    async with connected(standin) as server:
        stores = on(server)
        assert await stores.state() == GenerationState()
        await stores.record(GenerationState(searched="one"))
        await stores.record(STATE)
        assert await on(server).state() == STATE
        assert await on(server, prefix="other").state() == GenerationState()

        for prefix, name, identity in (
            ("test", "", IDENTITY),
            ("test", "one", replace(IDENTITY, dimension=5)),
            ("test", "one1", IDENTITY),
            ("other", "one", IDENTITY),
        ):
            store = await on(server, prefix=prefix).open(name)
            await store.initialise(identity)
            await store.add_children("safety", record(), [])
        await stores.delete("one")
        await stores.delete("one")
        left = {one.name for one in (await standin.local.get_collections()).collections}
        kinds = ("catalogue", "parents", "safety")
        stems = ("test-first", "test-one1", "other-one")
        assert left == {f"{stem}-{kind}" for stem in stems for kind in kinds} | {"test-generations"}
        assert (await stores.open("one")).identity is None
        assert (await stores.open("")).identity == IDENTITY


async def test_the_catalogue_is_deleted_last(standin: QdrantStandin) -> None:
    """What was deleted half is deleted again, and never taken for an empty index."""
    async with connected(standin) as server:
        store = await on(server).open("one")
        await fill(store, record(), child(record(), [1, 0, 0, 0], {1: 1.0}))
        standin.fail = always("Collections.Delete", grpc.StatusCode.INTERNAL, collection="test-one-catalogue")
        with pytest.raises(Unavailable):
            await on(server).delete("one")
        left = {one.name for one in (await standin.local.get_collections()).collections}
        assert left == {"test-one-catalogue"}
        standin.fail = lambda seen: None
        await on(server).delete("one")
        assert (await standin.local.get_collections()).collections == []


def _payload(identifier: str, **values: Any) -> Callable[[Seen, Any], None]:
    def spoil(seen: Seen, response: Any) -> None:
        for point in response.result if seen.method == "Points.Get" else ():
            if point.id.uuid == identifier:
                for key, value in values.items():
                    point.payload[key].CopyFrom(value)

    return spoil


@pytest.mark.parametrize("value", [api.Value(integer_value=99), api.Value(string_value="garbage")])
async def test_another_format(standin: QdrantStandin, value: Any) -> None:
    message = "format 99" if value.integer_value else "cannot be read"
    async with connected(standin) as server:
        await on(server).record(STATE)
        await (await on(server).open("")).initialise(IDENTITY)
        standin.spoil = _payload(points.GENERATIONS_ID, format_version=value)
        with pytest.raises(PreconditionFailed, match=message):
            await on(server).state()
        standin.spoil = _payload(points.IDENTITY_ID, format_version=value)
        with pytest.raises(PreconditionFailed, match=message):
            await on(server).open("")


async def test_damaged_descriptions(standin: QdrantStandin) -> None:
    number = api.Value(integer_value=5)
    async with connected(standin) as server:
        await on(server).record(STATE)
        await (await on(server).open("")).initialise(IDENTITY)
        standin.spoil = _payload(points.GENERATIONS_ID, retired=number)
        with pytest.raises(PreconditionFailed, match="cannot be read"):
            await on(server).state()
        standin.spoil = _payload(points.IDENTITY_ID, identity=number)
        with pytest.raises(PreconditionFailed, match="cannot be read"):
            await on(server).open("")


async def test_vectors_of_another_length(standin: QdrantStandin) -> None:
    """A catalogue restored from another time than the children."""
    async with connected(standin) as server:
        store = await on(server).open("")
        await fill(store, record(), child(record(), [1, 0, 0, 0], {1: 1.0}))
        await standin.local.upsert(
            "test-first-catalogue", [points.identity_point(IndexIdentity("f" * 16, 5, "sparse"))]
        )
        with pytest.raises(PreconditionFailed, match="other vectors"):
            await on(server).open("")
