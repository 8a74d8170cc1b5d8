"""What is in force, what takes whose place, and where that puts a passage."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from radref.validity import Standing, Validity, standing, superseders_of
from retrieval_svc.model import Metadata, StageRecord
from retrieval_svc.query import Query
from tests.retrieval.retrieval_kit import Kit

NOW = datetime(2026, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)


def active(**documents: dict[str, object]) -> dict[str, StageRecord]:
    return {
        name: StageRecord(f"s-{name}", name, 1, Metadata("T", "safety", "en", **values), 1, 1, 1)  # type: ignore[arg-type]
        for name, values in documents.items()
    }


def at(documents: dict[str, StageRecord], name: str, now: datetime = NOW) -> Standing:
    dated = {other: record.metadata for other, record in documents.items()}
    return standing(name, dated[name], searched=dated, superseders=superseders_of(dated), now=now)


@pytest.mark.parametrize(
    ("since", "until", "validity"),
    [
        (None, None, Validity.IN_FORCE),
        (NOW, None, Validity.IN_FORCE),
        (NOW + DAY, None, Validity.NOT_YET),
        (None, NOW, Validity.EXPIRED),
        (None, NOW + DAY, Validity.IN_FORCE),
        (NOW - DAY, NOW + DAY, Validity.IN_FORCE),
    ],
)
def test_dates(since: datetime | None, until: datetime | None, validity: Validity) -> None:
    assert at(active(a={"effective_from": since, "effective_until": until}), "a") == Standing(validity)


def test_a_document_takes_the_place_of_another_while_it_is_in_force() -> None:
    documents = active(old={}, new={"supersedes": ("old", "unknown", "new"), "effective_from": NOW})
    assert at(documents, "old") == Standing(Validity.SUPERSEDED, "new", NOW)
    assert at(documents, "new") == Standing(Validity.IN_FORCE)
    assert at(documents, "old", NOW - DAY) == Standing(Validity.IN_FORCE)
    assert at(active(old={}, new={"supersedes": ("old",), "effective_until": NOW}), "old").in_force


def test_a_chain_holds_over_what_expired_in_between() -> None:
    documents = active(a={}, b={"supersedes": ("a",), "effective_until": NOW - DAY}, c={"supersedes": ("b",)})
    assert at(documents, "a") == Standing(Validity.SUPERSEDED, "c")
    assert at(documents, "b") == Standing(Validity.EXPIRED, "c")


def test_documents_that_name_each_other_are_both_superseded() -> None:
    documents = active(a={"supersedes": ("b",)}, b={"supersedes": ("a",)})
    assert at(documents, "a") == Standing(Validity.SUPERSEDED, "b")
    assert at(documents, "b") == Standing(Validity.SUPERSEDED, "a")


async def test_what_is_in_force_comes_first_and_nothing_is_dropped(kit: Kit) -> None:
    await kit.put("old", 1, ["annual dose limit for workers 50 mSv"], year=2000)
    await kit.put("expired", 1, ["annual dose limit for workers 30 mSv"], effective_until=NOW - DAY)
    await kit.put("other", 1, ["workers and something else"])
    await kit.put("new", 1, ["limit of dose now 20 mSv"], supersedes=("old",), effective_from=NOW)

    async def found() -> list[tuple[str, Validity]]:
        retrieval = await kit.retriever.retrieve(Query("annual dose limit for workers"))
        return [(one.record.document_id, one.standing.validity) for one in retrieval.parents]

    kit.clock.moment = NOW
    listed = await found()
    assert {document for document, _ in listed[:2]} == {"new", "other"}
    assert sorted(listed[2:]) == [("expired", Validity.EXPIRED), ("old", Validity.SUPERSEDED)]
    await kit.index.withdraw("new")
    assert ("old", Validity.IN_FORCE) in (await found())[:2]
