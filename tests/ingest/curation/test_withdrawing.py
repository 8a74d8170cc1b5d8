"""Withdrawal of documents with several versions, and what the index is told in the end."""

from __future__ import annotations

import pytest
from sqlalchemy.orm import Session

from ingest_svc.jobs.events import JobEvents
from ingest_svc.registry import documents, jobs
from ingest_svc.retry import retry_job
from radref.errors import PreconditionFailed, Unavailable
from tests.ingest.curation.desk import Desk


async def marked(desk: Desk) -> list[str]:
    return list(await desk.database.read(documents.list_index_cleanup))


async def test_all_versions_are_withdrawn_and_work_on_them_ends(desk: Desk):
    await desk.live("one", "law")
    await desk.replace("law", "two")
    await desk.through("law", 2)
    await desk.replace("law", "three")
    await desk.parsed("law", 3)
    await desk.reject("law", 3)
    await desk.replace("law", "four")
    ended_before = (await desk.views("law"))[0].version.ended_at
    assert await desk.withdraw("law") == 2
    assert await desk.states("law") == ["withdrawn", "withdrawn", "rejected", "withdrawn"]
    assert desk.index.active == {}
    views = await desk.views("law")
    assert views[0].version.ended_at == ended_before, "superseded before it was withdrawn"
    assert views[1].version.ended_at is not None
    job = await desk.database.read(lambda session: jobs.newest_job(session, "law", 4))
    assert job is not None
    assert job.stage == "failed"
    assert [event for event in await desk.trail("law") if event[0] == "withdrawn"] == [
        ("withdrawn", "rita", 1),
        ("withdrawn", "rita", 2),
        ("withdrawn", "rita", 4),
    ]
    with pytest.raises(PreconditionFailed, match="nothing to withdraw"):
        await desk.withdraw("law")


async def test_a_failed_version_cannot_bring_a_withdrawn_document_back(desk: Desk):
    await desk.live("one", "law")
    await desk.replace("law", "two")
    job_id = await desk.failed("law", 2)
    await desk.withdraw("law")
    with pytest.raises(PreconditionFailed):
        await retry_job(desk.database, JobEvents(), lambda: None, job_id)


@pytest.mark.parametrize("text", ["one", "two"])
async def test_bytes_of_any_withdrawn_version_come_back_under_the_same_id(desk: Desk, text: str):
    await desk.live("one", "law")
    await desk.replace("law", "two")
    await desk.through("law", 2)
    await desk.withdraw("law")
    again = await desk.submit(text)
    assert (again.document_id, again.version, again.duplicate) == ("law", 3, False)


async def test_an_index_that_is_away_is_told_later(desk: Desk):
    await desk.live("one", "law")
    desk.index.down = True
    with pytest.raises(Unavailable):
        await desk.withdraw("law")
    assert await desk.states("law") == ["withdrawn"]
    with pytest.raises(Unavailable):
        await desk.agreement.settle()
    desk.index.down = False
    assert await desk.withdraw("law") == 1, "asked again, only the index is left"
    assert desk.index.active == {}
    assert await marked(desk) == []


async def test_a_document_that_never_reached_the_index_is_withdrawn_all_the_same(desk: Desk):
    await desk.submit("one", "law")
    assert await desk.withdraw("law") == 0
    assert await marked(desk) == []


async def test_the_index_is_made_to_search_the_active_version(desk: Desk):
    await desk.live("one", "law")
    await desk.live("other", "guide")
    await desk.replace("law", "two")
    desk.index.staged.add(("law", 2))
    await desk.index.activate("law", 2)

    def mark(session: Session) -> None:
        for document_id in ("guide", "law"):
            documents.set_index_cleanup(session, document_id, True)

    await desk.failed("law", 2)
    await desk.database.write(mark)
    # The index has lost one of them: it stays marked, and the other one does not wait for it.
    desk.index.staged.discard(("guide", 1))
    assert await desk.agreement.settle() == 1
    assert desk.index.active["law"] == 1
    assert await marked(desk) == ["guide"]
