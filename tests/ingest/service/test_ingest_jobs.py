"""Jobs from upload to index, over backends that fail in scripted ways."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from sqlalchemy import select

from ingest_svc.document import ParsedDocument
from ingest_svc.jobs.watch import watch_job
from ingest_svc.lifecycle import DocumentState, JobStage
from ingest_svc.metadata import DocumentMetadata
from ingest_svc.queries import get_document, get_passage, list_audit_events
from ingest_svc.registry.database import Database
from ingest_svc.registry.models import ChildVectorRow
from ingest_svc.registry.records import Job
from ingest_svc.replacing import Replacing
from ingest_svc.retry import retry_job
from radref.errors import InvalidInput, NotFound, PreconditionFailed
from tests.ingest.service.ingest_fakes import (
    FakeIndex,
    FakeInference,
    PlainParser,
    failing,
    long_document,
    vector_of,
)
from tests.ingest.service.ingest_stack import running_stack, upload

NOTE = b"# Lead aprons\n\nLead aprons are checked for cracks.\n\n## Storage\n\nThey hang, never folded."


async def test_a_document_is_indexed_and_its_passages_resolve(stack):
    submitted = await stack.index_document(NOTE)
    assert stack.index.active == {submitted.document_id: 1}
    header, parents, children = stack.index.staged[submitted.document_id, 1]
    assert header.metadata.topic == "safety"
    assert header.metadata.title == "Lead aprons"
    assert header.metadata.language == "en"
    assert header.embedder_fingerprint == stack.inference.fingerprint
    texts = {parent.citation_id: parent.text for parent in parents}
    for child in children:
        text = texts[child.citation_id][child.span.start : child.span.end]
        assert list(child.vector) == pytest.approx(vector_of(text), abs=1e-6)
    for parent in parents:
        source = await get_passage(stack.database, parent.citation_id)
        assert source.passage.text == parent.text
        assert source.passage.section_path == tuple(parent.section_path)
        assert source.version.state is DocumentState.INDEXED
    view, content = await get_document(stack.database, submitted.document_id, 0)
    assert (view.active_version, view.version.parents) == (1, len(parents))
    assert view.version.children == len(children)
    assert content is not None
    assert content.report.format == "markdown"
    events, _ = await list_audit_events(
        stack.database, document_id=submitted.document_id, asked_size=0, page_token=""
    )
    assert [event.action for event in events] == ["indexed", "approved", "parsed", "submitted"]


async def test_late_chunking_reads_every_parent_once(database: Database, tmp_path: Path):
    async with running_stack(database, tmp_path, late_chunking=True) as stack:
        submitted = await stack.index_document(long_document())
        _, parents, children = stack.index.staged[submitted.document_id, 1]
        texts = {parent.citation_id: parent.text for parent in parents}
        assert len(parents) > 1
        assert sorted(stack.inference.spanned) == sorted(texts.values())
        assert not stack.inference.embedded
        for child in children:
            named = f"{texts[child.citation_id]}:{child.span.start}-{child.span.end}"
            assert list(child.vector) == pytest.approx(vector_of(named), abs=1e-6)


async def test_a_late_chunked_document_goes_on_where_it_stopped(database: Database, tmp_path: Path):
    calls = 0

    async def second_call_fails(method: str) -> None:
        nonlocal calls
        calls += method == "Embed"
        if method == "Embed" and calls == 2:
            await failing(1, "Embed")(method)

    inference = FakeInference(hook=second_call_fails)
    async with running_stack(database, tmp_path, inference=inference, late_chunking=True) as stack:
        await stack.index_document(long_document())
        assert len(inference.spanned) == len(set(inference.spanned)) > 1


async def test_span_vectors_that_do_not_fit_are_refused(database: Database, tmp_path: Path):
    inference = FakeInference(vectors_per_text=2)
    async with running_stack(database, tmp_path, inference=inference, late_chunking=True) as stack:
        done = await stack.submit(NOTE)
        job = await stack.finished(done.job_id)
        assert job.failure is not None
        assert not stack.index.active


async def test_without_auto_approve_the_job_ends_at_the_review(database: Database, tmp_path: Path):
    async with running_stack(database, tmp_path, auto_approve=False) as stack:
        submitted = await stack.submit(NOTE)
        job = await stack.finished(submitted.job_id)
    assert (job.stage, job.state) == (JobStage.AWAIT_REVIEW, DocumentState.PARSED)
    assert stack.index.staged == {}
    assert stack.inference.embedded == []


async def test_progress_counts_embedded_parents(database: Database, tmp_path: Path):
    async with running_stack(database, tmp_path) as stack:
        submitted = await stack.submit(long_document())
        seen = [job async for job in watch_job(database, stack.events, submitted.job_id)]
    embedding = [job for job in seen if job.stage is JobStage.EMBED]
    assert [job.done for job in embedding] == sorted(job.done for job in embedding)
    assert embedding[-1].done == embedding[-1].total == seen[-1].parents > 3
    assert seen[-1].stage is JobStage.DONE


@pytest.mark.parametrize(
    ("method", "backend"),
    [
        ("Tokenize", "inference"),
        ("Describe", "inference"),
        ("Embed", "inference"),
        ("StageDocument", "index"),
        ("before ActivateVersion", "index"),
        ("after ActivateVersion", "index"),
    ],
)
async def test_a_backend_that_comes_back_is_waited_for(
    database: Database, tmp_path: Path, method: str, backend: str
):
    hook = failing(2, method)
    inference = FakeInference(hook=hook) if backend == "inference" else FakeInference()
    index = FakeIndex(hook=hook) if backend == "index" else FakeIndex()
    parser = PlainParser()
    async with running_stack(database, tmp_path, inference=inference, index=index, parser=parser) as stack:
        submitted = await stack.submit(NOTE)
        job = await stack.finished(submitted.job_id)
    assert (job.stage, job.attempts, job.failure) == (JobStage.DONE, 3, None)
    assert index.active == {submitted.document_id: 1}
    assert len(parser.parsed) == 1, "what was parsed is kept"
    assert len(inference.embedded) == len(set(inference.embedded)), "what was embedded is kept"


async def test_a_backend_that_stays_away_ends_the_job_and_a_retry_goes_on(database: Database, tmp_path: Path):
    index = FakeIndex(hook=failing(4, "StageDocument"))
    parser = PlainParser()
    async with running_stack(database, tmp_path, index=index, parser=parser, max_attempts=4) as stack:
        # The attempt that made vectors brought something, so it is not one of the four in vain.
        submitted = await stack.submit(NOTE)
        job = await stack.finished(submitted.job_id)
        assert job.stage is JobStage.DONE
        index.hook = failing(100, "StageDocument")
        other = await stack.submit(b"# Other\n\nText of another note.")
        job = await stack.finished(other.job_id)
        assert (job.stage, job.state) == (JobStage.FAILED, DocumentState.FAILED)
        assert job.failure is not None
        assert (job.failure.reason, job.failure.retryable) == ("BACKEND_UNAVAILABLE", True)
        index.hook = failing(0)
        again = await retry_job(database, stack.events, stack.engine.wake, other.job_id)
        assert (again.stage, again.state, again.failure) == (JobStage.QUEUED, DocumentState.APPROVED, None)
        job = await stack.finished(other.job_id)
        assert (job.stage, job.state) == (JobStage.DONE, DocumentState.INDEXED)
        with pytest.raises(PreconditionFailed):
            await retry_job(database, stack.events, stack.engine.wake, other.job_id)
    assert len(parser.parsed) == 2
    with pytest.raises(NotFound, match="No job"):
        await retry_job(database, stack.events, stack.engine.wake, "none")


async def test_a_slow_backend_runs_into_the_deadline_of_a_batch_not_of_the_document(
    database: Database, tmp_path: Path
):
    slow = [True]

    async def hook(method: str) -> None:
        if method == "Embed" and slow[0]:
            slow[0] = False
            await asyncio.sleep(5)

    async with running_stack(
        database, tmp_path, inference=FakeInference(hook=hook), embed_timeout=0.1
    ) as stack:
        submitted = await stack.submit(NOTE)
        job = await stack.finished(submitted.job_id)
    assert (job.stage, job.attempts) == (JobStage.DONE, 2)


@pytest.mark.parametrize(
    "inference",
    [
        FakeInference(vectors_per_text=2),
        FakeInference(vectors_per_text=0),
        FakeInference(shift_offsets=10_000),
    ],
    ids=["too many vectors", "no vectors", "offsets outside"],
)
async def test_garbage_is_refused_and_nothing_is_indexed(
    database: Database, tmp_path: Path, inference: FakeInference
):
    async with running_stack(database, tmp_path, inference=inference) as stack:
        submitted = await stack.submit(NOTE)
        job = await stack.finished(submitted.job_id)
    assert (job.stage, job.attempts) == (JobStage.FAILED, 1)
    assert job.failure is not None
    assert job.failure.reason == "INTERNAL"
    assert "inference" in job.failure.message
    assert stack.index.staged == {}


async def test_another_model_in_mid_work_starts_the_embedding_over(database: Database, tmp_path: Path):
    inference = FakeInference()
    calls = [0]

    async def hook(method: str) -> None:
        if method == "Embed":
            calls[0] += 1
            if calls[0] == 3:
                inference.fingerprint = "fedcba9876543210"

    inference.hook = hook
    async with running_stack(database, tmp_path, inference=inference) as stack:
        submitted = await stack.submit(long_document())
        job = await stack.finished(submitted.job_id)
    assert (job.stage, job.attempts) == (JobStage.DONE, 2)
    header, _, children = stack.index.staged[submitted.document_id, 1]
    assert header.embedder_fingerprint == "fedcba9876543210"
    assert len(children) == job.children


class Refusing:
    """A parser that refuses every file, or breaks."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    async def parse(self, data: bytes, file_name: str) -> ParsedDocument:
        raise self.error


async def test_bad_input_fails_at_once_with_its_reason(database: Database, tmp_path: Path):
    error = InvalidInput("The file asks for a password.", reason="PASSWORD_PROTECTED")
    async with running_stack(database, tmp_path, parser=Refusing(error)) as stack:
        submitted = await stack.submit(NOTE)
        job = await stack.finished(submitted.job_id)
    assert (job.stage, job.attempts, job.state) == (JobStage.FAILED, 1, DocumentState.FAILED)
    assert job.failure is not None
    assert (job.failure.reason, job.failure.retryable) == ("PASSWORD_PROTECTED", False)


async def test_a_defect_does_not_leak_text_and_does_not_stop_the_others(
    database: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    parser = Refusing(ValueError("secret sentence of the document"))
    async with running_stack(database, tmp_path, parser=parser, workers=1) as stack:
        first = await stack.submit(NOTE)
        job = await stack.finished(first.job_id)
        assert job.failure is not None
        assert job.failure.reason == "INTERNAL"
        assert "secret" not in job.failure.message
        second = await stack.submit(b"other")
        assert (await stack.finished(second.job_id)).stage is JobStage.FAILED
    captured = capsys.readouterr()
    assert "secret" not in captured.out + captured.err


async def test_a_file_without_text_is_refused(stack):
    submitted = await stack.submit(b"  \n\n ")
    job = await stack.finished(submitted.job_id)
    assert job.failure is not None
    assert job.failure.reason == "NO_TEXT"


def sections(*words: str) -> bytes:
    """A document with a section a word, each a parent of its own."""
    return "\n\n".join(f"# {word}\n\n" + " ".join([word] * 350) + "." for word in words).encode()


async def test_only_what_changed_is_embedded_and_two_versions_of_vectors_are_kept(stack):
    replacing = Replacing(
        database=stack.database, blobs=stack.blobs, limits=stack.limits, wake=stack.engine.wake
    )
    submitted = await stack.index_document(sections("alpha", "beta", "gamma"))
    first = await stack.finished(submitted.job_id)
    assert (first.embedded, first.reused) == (len(stack.inference.embedded), first.children - first.embedded)

    async def replace(data: bytes) -> Job:
        replaced = await replacing.replace(upload(data, document_id=submitted.document_id), "local")
        job = await stack.finished(replaced.job_id)
        assert job.stage is JobStage.DONE, job.failure
        assert job.embedded + job.reused == job.children
        return job

    async def kept() -> set[str]:
        return set(
            await stack.database.read(lambda session: session.scalars(select(ChildVectorRow.text_sha256)))
        )

    stack.inference.embedded.clear()
    second = await replace(sections("alpha", "delta", "gamma"))
    assert stack.inference.embedded
    assert all("delta" in text for text in stack.inference.embedded)
    assert 0 < second.embedded == len(stack.inference.embedded) < second.children
    before = await kept()
    assert len(before) == first.embedded + second.embedded
    third = await replace(sections("alpha", "delta", "epsilon"))
    assert 0 < third.embedded < third.children
    # Alpha, delta and gamma of the version before; epsilon of this one; beta goes after the job has ended.
    async with asyncio.timeout(60):
        while before <= (after := await kept()):
            await asyncio.sleep(0.05)
    assert len(after - before) == third.embedded
    assert stack.index.active == {submitted.document_id: 3}


async def test_a_shutdown_gives_the_job_back_uncounted(database: Database, tmp_path: Path):
    reached = asyncio.Event()

    def blocking(method_wanted: str) -> Callable[[str], Awaitable[None]]:
        async def hook(method: str) -> None:
            if method == method_wanted:
                reached.set()
                await asyncio.sleep(60)

        return hook

    inference = FakeInference(hook=blocking("Embed"))
    async with running_stack(database, tmp_path, inference=inference) as stack:
        submitted = await stack.submit(NOTE)
        async with asyncio.timeout(10):
            await reached.wait()
    async with running_stack(database, tmp_path) as stack:
        job = await stack.finished(submitted.job_id)
    assert (job.stage, job.attempts) == (JobStage.DONE, 1)


async def test_many_documents_with_few_workers_all_end(stack):
    texts = [f"# Note {number}\n\nText number {number}.".encode() for number in range(12)]
    submitted = await asyncio.gather(*(stack.submit(text, file_name="n.md") for text in texts))
    jobs = await asyncio.gather(*(stack.finished(item.job_id) for item in submitted))
    assert {job.stage for job in jobs} == {JobStage.DONE}
    assert len(stack.index.active) == 12
    assert len(stack.index.activations) == 12


async def test_title_and_language_of_the_curator_stand(stack):
    metadata = DocumentMetadata(topic="physics", title="Given", language="de", year=2020)
    submitted = await stack.index_document(NOTE, metadata=metadata)
    view, _ = await get_document(stack.database, submitted.document_id, 1)
    assert view.version.metadata == metadata
