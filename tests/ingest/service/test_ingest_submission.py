"""Uploads: duplicates, ids, refused headers and broken streams."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ingest_svc.lifecycle import DocumentState, JobStage
from ingest_svc.metadata import DocumentMetadata
from ingest_svc.queries import list_documents, list_versions
from ingest_svc.registry.database import Database
from ingest_svc.retry import retry_job
from ingest_svc.uploads.header import UploadHeader
from ingest_svc.uploads.receive import UploadPart
from radref.errors import InvalidInput, PreconditionFailed, RadrefError
from tests.ingest.service.ingest_fakes import FakeIndex, FakeInference, PlainParser, failing
from tests.ingest.service.ingest_stack import running_stack, upload

NOTE = b"# Lead aprons\n\nLead aprons are checked every year."
OTHER = b"# Lead aprons\n\nLead aprons are checked every two years."


async def test_the_same_bytes_are_a_duplicate_under_any_name_and_id(stack):
    first = await stack.submit(NOTE, file_name="Приказ № 5.md")
    assert first.document_id == f"prikaz-5-{hashlib.sha256(NOTE).hexdigest()[:12]}"
    for header in ({}, {"document_id": "mine"}, {"file_name": "x.txt"}):
        again = await stack.submit(NOTE, **header)
        assert again.duplicate
        assert (again.document_id, again.version, again.job_id) == (first.document_id, 1, "")
    await stack.finished(first.job_id)
    assert (await stack.submit(NOTE)).duplicate
    assert len(stack.index.activations) == 1


async def test_the_same_bytes_at_the_same_moment_are_indexed_once(stack):
    answers = await asyncio.gather(
        *(stack.submit(NOTE, file_name=f"name-{number}.md") for number in range(8))
    )
    originals = [answer for answer in answers if not answer.duplicate]
    assert len(originals) == 1
    assert {answer.document_id for answer in answers} == {originals[0].document_id}
    await stack.finished(originals[0].job_id)
    assert len(stack.index.activations) == 1
    assert len(list(stack.blobs._root.glob("??/*"))) == 1


async def test_other_bytes_need_replace_document(stack):
    await stack.index_document(NOTE, document_id="aprons")
    with pytest.raises(PreconditionFailed, match="ReplaceDocument") as caught:
        await stack.submit(OTHER, document_id="aprons")
    assert caught.value.reason == "INVALID_STATE"


async def test_a_failed_upload_may_be_submitted_again_as_the_next_version(database: Database, tmp_path: Path):
    inference = FakeInference(vectors_per_text=2)
    async with running_stack(database, tmp_path, inference=inference) as stack:
        first = await stack.submit(NOTE, document_id="aprons")
        assert (await stack.finished(first.job_id)).stage is JobStage.FAILED
        inference.vectors_per_text = 1
        second = await stack.index_document(OTHER, document_id="aprons")
        assert (second.document_id, second.version, second.duplicate) == ("aprons", 2, False)
        with pytest.raises(PreconditionFailed, match="newer version"):
            await retry_job(database, stack.events, stack.engine.wake, first.job_id)
    views = await list_versions(database, "aprons")
    assert [view.version.state for view in views] == [DocumentState.FAILED, DocumentState.INDEXED]
    assert {view.active_version for view in views} == {2}


async def test_failed_bytes_keep_their_document_under_another_name(database: Database, tmp_path: Path):
    inference = FakeInference(vectors_per_text=2)
    async with running_stack(database, tmp_path, inference=inference) as stack:
        first = await stack.submit(NOTE, file_name="one.md")
        await stack.finished(first.job_id)
        inference.vectors_per_text = 1
        second = await stack.index_document(NOTE, file_name="two.md")
    assert (second.document_id, second.version) == (first.document_id, 2)


async def test_a_retry_is_refused_when_the_bytes_live_elsewhere(database: Database, tmp_path: Path):
    inference = FakeInference(vectors_per_text=2)
    async with running_stack(database, tmp_path, inference=inference) as stack:
        first = await stack.submit(NOTE, document_id="one")
        await stack.finished(first.job_id)
        inference.vectors_per_text = 1
        await stack.index_document(NOTE, document_id="two")
        with pytest.raises(PreconditionFailed, match="submitted again as document two"):
            await retry_job(database, stack.events, stack.engine.wake, first.job_id)


async def test_a_withdrawn_document_comes_back_as_the_next_version(stack):
    first = await stack.index_document(NOTE)
    await stack.withdrawal.withdraw(first.document_id, "out of date")
    second = await stack.index_document(NOTE)
    assert (second.document_id, second.version, second.duplicate) == (first.document_id, 2, False)
    assert stack.index.active == {first.document_id: 2}


GOOD = UploadHeader("", "note.md", DocumentMetadata(topic="safety"), len(NOTE))


def _with(**changes: object) -> UploadHeader:
    return replace(GOOD, metadata=replace(GOOD.metadata, **changes))  # type: ignore[arg-type]


LATER, EARLIER = datetime(2025, 1, 1, tzinfo=UTC), datetime(2020, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        ([], "STREAM_PROTOCOL"),
        ([NOTE], "STREAM_PROTOCOL"),
        ([None], "STREAM_PROTOCOL"),
        ([GOOD, GOOD], "STREAM_PROTOCOL"),
        ([GOOD, None], "STREAM_PROTOCOL"),
        ([GOOD, b""], "STREAM_PROTOCOL"),
        ([GOOD, NOTE[:-1]], "STREAM_PROTOCOL"),
        ([GOOD, NOTE, b"x"], "STREAM_PROTOCOL"),
        ([replace(GOOD, size_bytes=2_000_000), b"x" * 1_048_577], "FILE_TOO_LARGE"),
        ([replace(GOOD, size_bytes=0)], "EMPTY_FILE"),
        ([replace(GOOD, size_bytes=1_000_001)], "FILE_TOO_LARGE"),
        ([replace(GOOD, file_name=" ")], "EMPTY_TEXT"),
        ([replace(GOOD, file_name="x" * 256)], "TEXT_TOO_LONG"),
        ([replace(GOOD, file_name="a\nb.md")], "INVALID_FIELD"),
        ([replace(GOOD, document_id="a b")], "INVALID_FIELD"),
        ([replace(GOOD, document_id="x" * 129)], "INVALID_FIELD"),
        ([_with(topic="")], "EMPTY_TEXT"),
        ([_with(topic="cooking")], "UNKNOWN_TOPIC"),
        ([_with(title="x" * 501)], "TEXT_TOO_LONG"),
        ([_with(source="x" * 2001)], "TEXT_TOO_LONG"),
        ([_with(authority="x" * 201)], "TEXT_TOO_LONG"),
        ([_with(language="english language")], "INVALID_FIELD"),
        ([_with(language="e")], "INVALID_FIELD"),
        ([_with(year=1799)], "OUT_OF_RANGE"),
        ([_with(year=2201)], "OUT_OF_RANGE"),
        ([_with(effective_from=LATER, effective_until=EARLIER)], "OUT_OF_RANGE"),
        ([_with(supersedes=("x",) * 101)], "OUT_OF_RANGE"),
        ([_with(supersedes=("not an id",))], "INVALID_FIELD"),
    ],
)
async def test_what_is_not_acceptable_leaves_nothing_behind(stack, parts: list[UploadPart], reason: str):
    async def stream() -> AsyncIterator[UploadPart]:
        for part in parts:
            yield part

    with pytest.raises(InvalidInput) as caught:
        await stack.submission.submit(stream())
    assert caught.value.reason == reason
    await _nothing_is_stored(stack)


async def test_an_unknown_topic_is_answered_with_the_known_ones(stack):
    with pytest.raises(InvalidInput, match="consult, physics, safety"):
        await stack.submit(NOTE, metadata=DocumentMetadata(topic="cooking"))


async def test_a_stream_that_breaks_leaves_nothing_behind(stack):
    async def broken() -> AsyncIterator[UploadPart]:
        yield GOOD
        yield NOTE[:10]
        raise ConnectionResetError

    with pytest.raises(ConnectionResetError):
        await stack.submission.submit(broken())
    await _nothing_is_stored(stack)


async def test_a_caller_that_goes_away_leaves_nothing_behind(stack):
    reached = asyncio.Event()

    async def hanging() -> AsyncIterator[UploadPart]:
        yield GOOD
        yield NOTE[:10]
        reached.set()
        await asyncio.sleep(60)

    task = asyncio.create_task(stack.submission.submit(hanging()))
    await reached.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await _nothing_is_stored(stack)


async def test_withdrawing_takes_out_of_the_index_but_citations_resolve(stack):
    submitted = await stack.index_document(NOTE)
    assert await stack.withdrawal.withdraw(submitted.document_id, "replaced by law") == 1
    assert stack.index.active == {}
    (view,) = await list_versions(stack.database, submitted.document_id)
    assert (view.version.state, view.active_version) == (DocumentState.WITHDRAWN, 0)
    assert view.version.ended_at is not None
    with pytest.raises(PreconditionFailed, match="nothing to withdraw"):
        await stack.withdrawal.withdraw(submitted.document_id, "again")


@pytest.mark.parametrize(
    ("document_id", "reason_given", "reason"),
    [("none", "why", "UNKNOWN_DOCUMENT"), ("x", " ", "EMPTY_TEXT"), ("x", "y" * 2001, "TEXT_TOO_LONG")],
)
async def test_withdrawals_that_are_refused(stack, document_id: str, reason_given: str, reason: str):
    with pytest.raises(RadrefError) as caught:
        await stack.withdrawal.withdraw(document_id, reason_given)
    assert caught.value.reason == reason


async def test_a_withdrawal_without_index_is_finished_later(database: Database, tmp_path: Path):
    index = FakeIndex()
    async with running_stack(database, tmp_path, index=index) as stack:
        submitted = await stack.index_document(NOTE)
        index.hook = failing(2, "WithdrawDocument")
        with pytest.raises(RadrefError) as caught:
            await stack.withdrawal.withdraw(submitted.document_id, "wrong")
        assert caught.value.reason == "BACKEND_UNAVAILABLE"
        (view,) = await list_versions(database, submitted.document_id)
        assert view.version.state is DocumentState.WITHDRAWN
        assert index.active == {submitted.document_id: 1}
        with pytest.raises(RadrefError):
            await stack.agreement.settle()
        assert await stack.agreement.settle() == 1
        assert index.active == {}
        assert await stack.agreement.settle() == 0


async def test_withdrawing_ends_work_in_progress(database: Database, tmp_path: Path):
    reached, go_on = asyncio.Event(), asyncio.Event()

    async def hook(method: str) -> None:
        if method == "Embed":
            reached.set()
            await go_on.wait()

    async with running_stack(database, tmp_path, inference=FakeInference(hook=hook)) as stack:
        submitted = await stack.submit(NOTE)
        await reached.wait()
        assert await stack.withdrawal.withdraw(submitted.document_id, "wrong file") == 0
        job = await stack.finished(submitted.job_id)
        assert (job.stage, job.state) == (JobStage.FAILED, DocumentState.WITHDRAWN)
        go_on.set()
        other = await stack.index_document(OTHER)
    assert stack.index.active == {other.document_id: 1}


async def test_an_activation_whose_answer_never_came_is_undone_in_the_end(database: Database, tmp_path: Path):
    index = FakeIndex(hook=failing(100, "after ActivateVersion"))
    async with running_stack(database, tmp_path, index=index, parser=PlainParser()) as stack:
        submitted = await stack.submit(NOTE)
        job = await stack.finished(submitted.job_id)
        assert job.state is DocumentState.FAILED
        assert index.active == {submitted.document_id: 1}
        assert await stack.agreement.settle() == 1
    assert index.active == {}


async def _nothing_is_stored(stack) -> None:
    page = await list_documents(
        stack.database, states=(), topics=(), known_topics=(), asked_size=0, page_token=""
    )
    assert page.total == 0
    assert [path for path in stack.blobs._root.rglob("*") if path.is_file()] == []


async def test_uploads_are_read_to_the_announced_size(stack):
    parts = [part async for part in upload(NOTE)]
    assert isinstance(parts[0], UploadHeader)
    assert parts[0].size_bytes == sum(len(part) for part in parts[1:] if isinstance(part, bytes))
