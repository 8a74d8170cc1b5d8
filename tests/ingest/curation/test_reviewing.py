"""Approving and rejecting, by one person or two."""

from __future__ import annotations

from pathlib import Path

import pytest

from ingest_svc.registry import jobs
from ingest_svc.registry.database import Database
from ingest_svc.reviewing import Reviewing
from radref.errors import InvalidInput, NotFound, PreconditionFailed
from tests.ingest.curation.desk import Desk


@pytest.fixture
def strict(database: Database, tmp_path: Path) -> Desk:
    """A site with the two-person rule."""
    return Desk(database, tmp_path / "blobs", approvals_required=2)


async def test_an_approval_queues_a_job_and_is_kept_with_who_and_why(desk: Desk):
    await desk.submit("one", "law")
    await desk.parsed("law", 1)
    woken = desk.woken
    done = await desk.approve("law", 1, "rita", " looks right ")
    job = await desk.database.read(lambda session: jobs.get_job(session, done.job_id))
    assert (job.document_id, job.version, job.stage, job.state) == ("law", 1, "queued", "approved")
    assert desk.woken == woken + 1
    await desk.indexed("law", 1)
    (view,) = await desk.views("law")
    assert view.version.submitted_by == "ann"
    assert [(r.reviewer, r.decision, r.comment) for r in view.reviews] == [("rita", "approve", "looks right")]
    assert await desk.trail("law") == [
        ("submitted", "ann", 1),
        ("parsed", "radref", 1),
        ("approved", "rita", 1),
        ("indexed", "radref", 1),
    ]


async def test_a_rejection_needs_a_reason_and_ends_the_version(desk: Desk):
    await desk.submit("one", "law")
    await desk.parsed("law", 1)
    with pytest.raises(InvalidInput) as caught:
        await desk.reject("law", 1, comment=" \n")
    assert (caught.value.reason, caught.value.field) == ("EMPTY_TEXT", "comment")
    assert await desk.states("law") == ["parsed"]
    done = await desk.reject("law", 1, comment="устарел")
    assert (done.job_id, done.approvals_missing) == ("", 0)
    assert await desk.states("law") == ["rejected"]
    with pytest.raises(PreconditionFailed, match="was rejected already"):
        await desk.approve("law", 1)
    again = await desk.submit("one", "law")
    assert (again.version, again.duplicate) == (2, False)


async def test_what_does_not_await_a_review_says_why(desk: Desk):
    await desk.submit("one", "law")
    with pytest.raises(PreconditionFailed, match="not parsed yet"):
        await desk.approve("law", 1)
    await desk.parsed("law", 1)
    await desk.approve("law", 1)
    for refused in (desk.approve, desk.reject):
        with pytest.raises(PreconditionFailed, match="approved already"):
            await refused("law", 1)
    await desk.failed("law", 1)
    with pytest.raises(PreconditionFailed, match="retry its job"):
        await desk.approve("law", 1)
    with pytest.raises(NotFound) as caught:
        await desk.approve("law", 2)
    assert caught.value.reason == "UNKNOWN_VERSION"
    with pytest.raises(NotFound) as caught:
        await desk.approve("none", 1)
    assert caught.value.reason == "UNKNOWN_DOCUMENT"
    with pytest.raises(InvalidInput) as invalid:
        await desk.approve("law", 0)
    assert invalid.value.reason == "OUT_OF_RANGE"
    with pytest.raises(InvalidInput) as invalid:
        await desk.approve("law", 1, comment="x" * 2001)
    assert invalid.value.reason == "TEXT_TOO_LONG"


async def test_a_version_that_was_overtaken_is_not_reviewed(desk: Desk):
    await desk.live("one", "law")
    await desk.replace("law", "two")
    await desk.parsed("law", 2)
    await desk.replace("law", "three")
    for decide in (desk.approve, desk.reject):
        with pytest.raises(PreconditionFailed, match="newer version 3"):
            await decide("law", 2)
    assert await desk.states("law") == ["indexed", "superseded", "received"]


async def test_two_people_must_approve_and_neither_uploaded_it(strict: Desk):
    await strict.submit("one", "law", actor="Ann")
    await strict.parsed("law", 1)
    for name in ("Ann", " ann "):
        with pytest.raises(PreconditionFailed) as caught:
            await strict.approve("law", 1, name)
        assert caught.value.reason == "OTHER_REVIEWER_NEEDED"
    first = await strict.approve("law", 1, "rita")
    assert (first.job_id, first.approvals_missing) == ("", 1)
    assert await strict.states("law") == ["parsed"]
    with pytest.raises(PreconditionFailed) as caught:
        await strict.approve("law", 1, "Rita")
    assert caught.value.reason == "OTHER_REVIEWER_NEEDED"
    second = await strict.approve("law", 1, "olga")
    assert second.job_id
    assert second.approvals_missing == 0
    (view,) = await strict.views("law")
    assert [review.reviewer for review in view.reviews] == ["rita", "olga"]
    assert [actor for action, actor, _ in await strict.trail("law") if action == "approved"] == [
        "rita",
        "olga",
    ]


async def test_one_of_two_may_reject(strict: Desk):
    await strict.submit("one", "law")
    await strict.parsed("law", 1)
    await strict.approve("law", 1, "rita")
    await strict.reject("law", 1, "olga")
    assert await strict.states("law") == ["rejected"]


def test_other_numbers_of_approvals_are_a_mistake(database: Database):
    with pytest.raises(ValueError, match="one or two"):
        Reviewing(database=database, approvals_required=3, wake=lambda: None)
