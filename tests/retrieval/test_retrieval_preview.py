"""A staged version searched before it is activated, and the list of what is staged."""

from __future__ import annotations

import pytest

from radref.errors import InvalidInput, NotFound
from retrieval_svc.query import Preview, Query
from retrieval_svc.store.protocol import PointCounts
from tests.retrieval.retrieval_kit import Kit


async def texts(kit: Kit, preview: Preview | None = None) -> list[str]:
    retrieval = await kit.retriever.retrieve(Query("dose limit", preview=preview))
    return sorted(one.parent.text for one in retrieval.parents)


async def test_preview_shows_the_staged_version_in_the_place_of_the_searched(kit: Kit) -> None:
    await kit.put("d", 1, ["dose limit old"])
    await kit.put("e", 1, ["dose limit elsewhere"])
    await kit.put("d", 2, ["dose limit new"], topic="physics", activate=False)
    await kit.put("f", 1, ["dose limit first"], activate=False)
    assert await texts(kit, Preview("d", 2)) == ["dose limit elsewhere", "dose limit new"]
    assert await texts(kit, Preview("d", 1)) == ["dose limit elsewhere", "dose limit old"]
    assert await texts(kit, Preview("f", 1)) == [
        "dose limit elsewhere",
        "dose limit first",
        "dose limit old",
    ]
    assert await texts(kit) == ["dose limit elsewhere", "dose limit old"]


async def test_preview_in_an_index_without_anything_searched(kit: Kit) -> None:
    await kit.put("d", 1, ["dose limit"], activate=False)
    assert await texts(kit, Preview("d", 1)) == ["dose limit"]


async def test_unknown_preview(kit: Kit) -> None:
    await kit.put("d", 1, ["dose limit"])
    for preview in (Preview("d", 2), Preview("x", 1)):
        with pytest.raises(NotFound) as caught:
            await texts(kit, preview)
        assert caught.value.reason == "UNKNOWN_VERSION"
    for preview in (Preview("", 1), Preview("d", 0)):
        with pytest.raises(InvalidInput):
            await texts(kit, preview)


async def test_versions_are_listed_with_what_is_stored(kit: Kit) -> None:
    assert await kit.generations.versions("") == []
    await kit.put("d", 1, ["dose limit", "dose"], pieces=2)
    await kit.put("d", 1, ["dose limit", "dose"], pieces=2, activate=False)
    await kit.put("d", 2, ["dose rate"], activate=False)
    await kit.put("e", 1, ["dose"])
    await kit.index.withdraw("e")
    lost = kit.catalogue.newest("d", 2)
    assert lost is not None
    await kit.store.delete_points([lost.stage])
    listed = [
        (one.record.document_id, one.record.version, one.active, one.stored)
        for one in await kit.generations.versions("")
    ]
    assert listed == [
        ("d", 1, True, PointCounts(2, 4)),
        ("d", 2, False, PointCounts(0, 0)),
        ("e", 1, False, PointCounts(1, 1)),
    ]
