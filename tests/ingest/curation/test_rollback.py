"""Going back to earlier versions."""

from __future__ import annotations

import pytest

from ingest_svc.jobs.events import JobEvents
from ingest_svc.lifecycle import DocumentState
from ingest_svc.queries import get_passage
from ingest_svc.registry import jobs
from ingest_svc.retry import retry_job
from radref.errors import InvalidInput, NotFound, PreconditionFailed
from tests.ingest.curation.desk import Desk, passage_of


@pytest.fixture
async def law(desk: Desk) -> Desk:
    """A document with a superseded and a searched version."""
    await desk.live("one", "law")
    await desk.replace("law", "two")
    await desk.through("law", 2)
    return desk


async def test_an_earlier_version_comes_back_without_parsing(law: Desk):
    done = await law.roll_back("law", 1, " the new one is wrong ")
    assert done.previous_version == 2
    job = await law.database.read(lambda session: jobs.get_job(session, done.job_id))
    assert (job.version, job.stage, job.state) == (1, "queued", "approved")
    assert await law.active("law") == 2
    assert await law.indexed("law", 1) == 2
    assert await law.states("law") == ["indexed", "superseded"]
    first, second = await law.views("law")
    assert first.version.ended_at is None
    assert second.version.ended_at is not None
    assert (await law.trail("law"))[-3:] == [
        ("rolled-back", "rita", 1),
        ("superseded", "radref", 2),
        ("indexed", "radref", 1),
    ]
    # And forward again.
    await law.roll_back("law", 2)
    await law.indexed("law", 2)
    assert await law.states("law") == ["superseded", "indexed"]


async def test_whoever_cites_a_version_on_its_way_back_is_told_that_it_is_superseded(law: Desk):
    cited = passage_of("law", 1).citation_id
    before = await get_passage(law.database, cited)
    await law.roll_back("law", 1)
    for _ in range(2):
        source = await get_passage(law.database, cited)
        assert source.state is DocumentState.SUPERSEDED
        assert source.version.ended_at == before.version.ended_at
        if source.version.state is DocumentState.APPROVED:
            await law.failed("law", 1)


async def test_cited_passages_outlive_new_rules_of_cutting(law: Desk):
    await law.roll_back("law", 1)
    await law.indexed("law", 1, cut="other rules")
    for cut in ("", "other rules"):
        source = await get_passage(law.database, passage_of("law", 1, cut).citation_id)
        assert source.state is DocumentState.INDEXED


async def test_a_failed_rollback_leaves_what_is_searched_and_can_be_retried(law: Desk):
    await law.roll_back("law", 1)
    job_id = await law.failed("law", 1)
    assert (await law.active("law"), await law.states("law")) == (2, ["failed", "indexed"])
    job = await retry_job(law.database, JobEvents(), lambda: None, job_id)
    assert job.state is DocumentState.APPROVED
    await law.failed("law", 1)
    await law.roll_back("law", 1)
    await law.indexed("law", 1)
    assert await law.states("law") == ["indexed", "superseded"]


async def test_a_failed_rollback_is_not_retried_after_a_newer_upload(law: Desk):
    await law.roll_back("law", 1)
    job_id = await law.failed("law", 1)
    await law.replace("law", "three")
    with pytest.raises(PreconditionFailed):
        await retry_job(law.database, JobEvents(), lambda: None, job_id)


async def test_a_withdrawn_document_comes_back(law: Desk):
    await law.withdraw("law")
    assert await law.states("law") == ["withdrawn", "withdrawn"]
    cited = passage_of("law", 1).citation_id
    assert (await law.roll_back("law", 1)).previous_version == 0
    assert (await get_passage(law.database, cited)).state is DocumentState.WITHDRAWN
    with pytest.raises(PreconditionFailed, match="being processed"):
        await law.submit("three", "law")
    await law.indexed("law", 1)
    assert (await get_passage(law.database, cited)).state is DocumentState.INDEXED


async def test_what_cannot_be_rolled_back_says_why(law: Desk):
    with pytest.raises(PreconditionFailed, match="is the one that is searched"):
        await law.roll_back("law", 2)
    with pytest.raises(NotFound) as caught:
        await law.roll_back("law", 9)
    assert caught.value.reason == "UNKNOWN_VERSION"
    with pytest.raises(NotFound) as caught:
        await law.roll_back("none", 1)
    assert caught.value.reason == "UNKNOWN_DOCUMENT"
    for version, reason, expected in ((0, "x", "OUT_OF_RANGE"), (1, " ", "EMPTY_TEXT")):
        with pytest.raises(InvalidInput) as invalid:
            await law.roll_back("law", version, reason)
        assert invalid.value.reason == expected
    await law.replace("law", "three")
    with pytest.raises(PreconditionFailed, match="being processed"):
        await law.roll_back("law", 1)
    await law.parsed("law", 3)
    with pytest.raises(PreconditionFailed, match="awaits its review"):
        await law.roll_back("law", 1)
    await law.reject("law", 3)
    with pytest.raises(PreconditionFailed, match="never searched"):
        await law.roll_back("law", 3)
    assert await law.active("law") == 2


async def test_bytes_that_live_elsewhere_are_not_brought_back(law: Desk):
    await law.replace("law", "one")
    await law.through("law", 3)
    with pytest.raises(PreconditionFailed, match="same bytes as version 3"):
        await law.roll_back("law", 1)
