"""Documents that supersede others."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from ingest_svc.metadata import DocumentMetadata
from ingest_svc.queries import get_document, get_passage
from radref.errors import InvalidInput
from radref.validity import Standing, Validity, standing, superseders_of
from tests.ingest.curation.desk import Desk, passage_of

NOW = datetime(2026, 6, 1, tzinfo=UTC)


async def test_cycles_are_refused_with_their_documents_in_order(desk: Desk):
    await desk.live("one", "law-2000", supersedes=("law-1990",))
    await desk.live("two", "law-2010", supersedes=("law-2000", "order-5"))
    with pytest.raises(
        InvalidInput, match="law-1990 supersedes law-2010 supersedes law-2000 supersedes law-1990"
    ):
        await desk.submit("three", "law-1990", supersedes=("law-2010",))
    with pytest.raises(InvalidInput, match="law-3 supersedes law-3"):
        await desk.submit("three", "law-3", supersedes=("law-3",))
    with pytest.raises(InvalidInput):
        await desk.replace("law-2000", "four", supersedes=("law-2010",))
    # Of what is out nothing counts.
    await desk.withdraw("law-2010")
    await desk.submit("three", "law-1990", supersedes=("law-2010",))


async def test_a_rollback_makes_no_cycle(desk: Desk):
    await desk.live("one", "law", supersedes=("guide",))
    await desk.replace("law", "two", supersedes=("order",))
    await desk.through("law", 2)
    await desk.live("three", "guide", supersedes=("law",))
    with pytest.raises(InvalidInput, match="guide supersedes law"):
        await desk.roll_back("law", 1)


async def test_superseded_documents_that_are_not_here_are_a_warning_to_the_reviewer(desk: Desk):
    await desk.submit("one", "law", supersedes=("old-1", "old-2"))
    await desk.parsed("law", 1)
    _, content = await get_document(desk.database, "law", 1)
    assert content is not None
    assert content.report.warnings == ("supersedes documents that do not exist here: old-1, old-2",)
    for name in ("old-1", "old-2"):
        await desk.submit(name, name)
    _, content = await get_document(desk.database, "law", 1)
    assert content is not None
    assert content.report.warnings == ()


async def test_a_citation_names_what_takes_its_place(desk: Desk):
    await desk.live("one", "law-2000")
    await desk.live("two", "law-2010", supersedes=("law-2000",))
    cited = passage_of("law-2000", 1).citation_id
    source = await get_passage(desk.database, cited)
    assert source.standing == Standing(Validity.SUPERSEDED, "law-2010")
    await desk.withdraw("law-2010")
    source = await get_passage(desk.database, cited)
    assert source.standing == Standing(Validity.IN_FORCE)


def at(document_id: str, document: DocumentMetadata, searched: dict[str, DocumentMetadata]) -> Standing:
    return standing(document_id, document, searched=searched, superseders=superseders_of(searched), now=NOW)


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        (None, None, Validity.IN_FORCE),
        (0, 1, Validity.IN_FORCE),
        (1, None, Validity.NOT_YET),
        (None, 0, Validity.EXPIRED),
    ],
)
def test_dates_say_whether_a_document_is_in_force(start: int | None, end: int | None, expected: Validity):
    def day(offset: int | None) -> datetime | None:
        return None if offset is None else NOW + timedelta(days=offset)

    metadata = DocumentMetadata(topic="safety", effective_from=day(start), effective_until=day(end))
    assert at("law", metadata, {}) == Standing(expected)


def test_the_end_of_a_chain_takes_the_place_and_what_is_not_in_force_takes_none():
    def naming(*ids: str, start: datetime | None = None) -> DocumentMetadata:
        return DocumentMetadata(topic="safety", supersedes=ids, effective_from=start)

    law = DocumentMetadata(topic="safety")
    chain = {"b": naming("a"), "c": naming("b")}
    assert at("a", law, chain) == Standing(Validity.SUPERSEDED, "c")
    later = NOW + timedelta(days=1)
    assert at("a", law, {"b": naming("a", start=later)}) == Standing(Validity.IN_FORCE)
    circle = {"b": naming("a"), "a": naming("b")}
    assert at("a", law, circle).superseded_by == "b"
