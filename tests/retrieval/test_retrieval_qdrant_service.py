"""A whole retrieval service with its index on a Qdrant server, and what faults of the wire do to it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import grpc
import pytest

from radref.errors import Unavailable
from retrieval_svc.model import Leg
from retrieval_svc.profiles import PAPER
from retrieval_svc.query import Query
from retrieval_svc.store.server.collections import Layout
from retrieval_svc.store.server.connection import Server, open_client
from retrieval_svc.store.server.generations import ServerGenerations
from tests.retrieval.qdrant_standin import QdrantStandin, always, once
from tests.retrieval.retrieval_kit import TOPICS, Kit


@pytest.fixture
async def standin() -> AsyncIterator[QdrantStandin]:
    made = QdrantStandin()
    await made.start()
    yield made
    await made.stop()


async def open_on(standin: QdrantStandin) -> Kit:
    """The whole service on the stand-in."""
    server = Server(open_client(standin.address(), timeout=20), search_timeout=20, timeout=20)
    stores = ServerGenerations(server, prefix="test", topics=TOPICS.all, layout=Layout())
    made = Kit(stores, TOPICS, profile=PAPER, search_timeout=20)
    await made.generations.open()
    return made


@pytest.fixture
async def kit(standin: QdrantStandin) -> AsyncIterator[Kit]:
    made = await open_on(standin)
    await made.put("dose", 1, ["dose limits for workers", "dose of a chest radiograph"])
    await made.put("tube", 1, ["dose and the X-ray tube"], topic="physics")
    await made.put("words", 1, ["dose, a word"], topic="glossary")
    yield made
    await made.close()


async def test_answers_survive_a_restart(kit: Kit, standin: QdrantStandin) -> None:
    before = await kit.retriever.retrieve(Query("dose limits"))
    assert before.parents[0].parent.text == "dose limits for workers"
    other = await open_on(standin)
    after = await other.retriever.retrieve(Query("dose limits"))
    assert [one.parent for one in after.parents] == [one.parent for one in before.parents]
    assert after.index_version == before.index_version
    await other.close()


async def test_a_collection_that_fails_is_reported_and_the_rest_answers(
    kit: Kit, standin: QdrantStandin
) -> None:
    standin.fail = always("Points.Query", grpc.StatusCode.UNAVAILABLE, collection="test-first-safety")
    found = await kit.retriever.retrieve(Query("dose"))
    assert {(one.leg, one.topic) for one in found.legs if not one.ok} == {
        (Leg.DENSE, "safety"),
        (Leg.BM25, "safety"),
    }
    assert {one.record.document_id for one in found.parents} == {"tube", "words"}
    standin.fail = always("Points.Query", grpc.StatusCode.UNAVAILABLE)
    with pytest.raises(Unavailable):
        await kit.retriever.retrieve(Query("dose"))


async def test_a_switch_whose_answer_is_lost_shows_what_the_store_holds(
    kit: Kit, standin: QdrantStandin
) -> None:
    await kit.put("dose", 2, ["dose constraints"], activate=False)
    standin.lost = frozenset({"Points.Upsert"})
    with pytest.raises(Unavailable):
        await kit.generations.activate("dose", 2)
    standin.lost = frozenset()
    found = await kit.retriever.retrieve(Query("dose constraints"))
    assert {one.record.version for one in found.parents if one.record.document_id == "dose"} == {2}


async def test_a_switch_that_did_not_arrive_leaves_the_old_version(kit: Kit, standin: QdrantStandin) -> None:
    await kit.put("dose", 2, ["dose constraints"], activate=False)
    standin.fail = once("Points.Upsert")
    with pytest.raises(Unavailable):
        await kit.generations.activate("dose", 2)
    found = await kit.retriever.retrieve(Query("dose limits"))
    assert {one.record.version for one in found.parents if one.record.document_id == "dose"} == {1}
    assert await kit.generations.activate("dose", 2) == 1


async def test_old_points_are_deleted_by_maintenance(kit: Kit) -> None:
    await kit.put("dose", 2, ["dose constraints"])
    kit.clock.moment = kit.clock.moment.replace(year=2027)
    await kit.maintenance.sweep()
    kit.clock.ticks += kit.grace
    await kit.maintenance.sweep()
    counts = await kit.store.counts()
    assert (counts.children["safety"], counts.parents) == (1, 3)
    found = await kit.retriever.retrieve(Query("dose"))
    assert {one.record.document_id for one in found.parents} == {"dose", "tube", "words"}
