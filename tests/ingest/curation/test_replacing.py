"""New versions of a document under its id."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import pytest

from ingest_svc.jobs.events import JobEvents
from ingest_svc.retry import retry_job
from radref.errors import InvalidInput, NotFound, PreconditionFailed, RadrefError
from tests.ingest.curation.desk import Desk

START, END = datetime(2024, 3, 1, tzinfo=UTC), datetime(2030, 3, 1, tzinfo=UTC)


async def test_the_old_version_serves_until_the_new_one_does(desk: Desk):
    await desk.live("one", "law")
    done = await desk.replace("law", "two", "bob")
    assert (done.version, done.duplicate, bool(done.job_id)) == (2, False, True)
    for step in (desk.parsed, desk.approve):
        assert await desk.active("law") == desk.index.active["law"] == 1
        await step("law", 2)
    assert await desk.states("law") == ["indexed", "approved"]
    assert await desk.indexed("law", 2) == 1
    assert await desk.states("law") == ["superseded", "indexed"]
    old, new = await desk.views("law")
    assert old.version.ended_at is not None
    assert new.version.ended_at is None
    assert new.version.submitted_by == "bob"
    assert (await desk.trail("law"))[-2:] == [("superseded", "radref", 1), ("indexed", "radref", 2)]


@pytest.mark.parametrize("end", ["reject", "failed"])
async def test_a_replacement_that_comes_to_nothing_leaves_the_old_one(desk: Desk, end: str):
    await desk.live("one", "law")
    await desk.replace("law", "two")
    await desk.parsed("law", 2)
    await getattr(desk, end)("law", 2)
    assert await desk.active("law") == 1
    assert (await desk.replace("law", "two")).version == 3
    await desk.through("law", 3)
    assert (await desk.states("law"))[::2] == ["superseded", "indexed"]


async def test_the_same_bytes_are_no_new_version(desk: Desk):
    await desk.live("one", "law")
    again = await desk.replace("law", "one")
    assert (again.version, again.job_id, again.duplicate) == (1, "", True)
    await desk.replace("law", "two")
    for text, version in (("one", 1), ("two", 2)):
        again = await desk.replace("law", text)
        assert (again.version, again.duplicate) == (version, True)
    assert len(await desk.views("law")) == 2


async def test_an_earlier_text_may_come_back_as_a_new_version(desk: Desk):
    await desk.live("one", "law")
    await desk.replace("law", "two")
    await desk.through("law", 2)
    back = await desk.replace("law", "one")
    assert (back.version, back.duplicate) == (3, False)


async def test_bytes_of_another_document_are_refused_with_its_name(desk: Desk):
    await desk.live("one", "law")
    await desk.live("two", "guide")
    with pytest.raises(PreconditionFailed, match="version 1 of document guide") as caught:
        await desk.replace("law", "two")
    assert caught.value.metadata == {"document_id": "guide", "version": "1"}


async def test_a_version_that_is_worked_on_is_not_overtaken(desk: Desk):
    await desk.live("one", "law")
    await desk.replace("law", "two")
    with pytest.raises(PreconditionFailed, match="being processed"):
        await desk.replace("law", "three")
    await desk.parsed("law", 2)
    await desk.approve("law", 2)
    with pytest.raises(PreconditionFailed, match="being processed"):
        await desk.replace("law", "three")


async def test_replacements_at_the_same_moment_make_one_version(desk: Desk):
    await desk.live("one", "law")
    answers = await asyncio.gather(
        *(desk.replace("law", f"text {number % 2}") for number in range(6)), return_exceptions=True
    )
    made = [answer for answer in answers if not isinstance(answer, BaseException) and not answer.duplicate]
    assert len(made) == 1
    refused = [answer for answer in answers if isinstance(answer, BaseException)]
    assert all(isinstance(error, PreconditionFailed) for error in refused)
    assert len(await desk.views("law")) == 2


async def test_metadata_left_empty_stays(desk: Desk):
    given = {"title": "Law", "language": "ru", "year": 2020, "authority": "FDA", "effective_from": START}
    await desk.live("one", "law", **given)
    await desk.replace("law", "two", year=2024, effective_until=END)
    view = (await desk.views("law"))[-1]
    metadata = view.version.metadata
    assert (metadata.topic, metadata.year, metadata.authority) == ("safety", 2024, "FDA")
    assert (metadata.title, metadata.effective_from, metadata.effective_until) == ("Title", START, END)


async def test_what_a_rejected_version_said_is_not_inherited(desk: Desk):
    await desk.live("one", "law", authority="FDA")
    await desk.replace("law", "two", authority="nobody")
    await desk.parsed("law", 2)
    await desk.reject("law", 2)
    await desk.replace("law", "three")
    assert (await desk.views("law"))[-1].version.metadata.authority == "FDA"


@pytest.mark.parametrize(
    ("document_id", "meta", "reason"),
    [
        ("none", {}, "UNKNOWN_DOCUMENT"),
        ("", {}, "EMPTY_TEXT"),
        ("a b", {}, "INVALID_FIELD"),
        ("law", {"topic": "cooking"}, "UNKNOWN_TOPIC"),
        ("law", {"effective_until": datetime(2020, 1, 1, tzinfo=UTC)}, "OUT_OF_RANGE"),
        ("law", {"supersedes": ("law",)}, "INVALID_FIELD"),
    ],
)
async def test_what_is_not_acceptable_is_refused_before_the_bytes(
    desk: Desk, document_id: str, meta: dict[str, object], reason: str
):
    await desk.live("one", "law", effective_from=START)
    with pytest.raises(RadrefError) as caught:
        await desk.replace(document_id, "two", **meta)
    assert caught.value.reason == reason
    assert isinstance(caught.value, InvalidInput | NotFound)
    assert await desk.states("law") == ["indexed"]


async def test_a_withdrawn_document_may_be_replaced(desk: Desk):
    await desk.live("one", "law")
    await desk.withdraw("law")
    assert (await desk.replace("law", "two")).version == 2
    await desk.through("law", 2)
    assert await desk.states("law") == ["withdrawn", "indexed"]


async def test_submitting_under_the_id_of_a_document_names_the_way(desk: Desk):
    await desk.live("one", "law")
    with pytest.raises(PreconditionFailed, match="ReplaceDocument"):
        await desk.submit("two", "law")


async def test_a_failed_replacement_is_retried_unless_another_one_came(desk: Desk):
    await desk.live("one", "law")
    await desk.replace("law", "two")
    job_id = await desk.failed("law", 2)
    job = await retry_job(desk.database, JobEvents(), lambda: None, job_id)
    assert job.state == "received"
    await desk.failed("law", 2)
    await desk.replace("law", "three")
    with pytest.raises(PreconditionFailed, match="newer version 3"):
        await retry_job(desk.database, JobEvents(), lambda: None, job_id)
