"""What a watched source brings in becomes a document, a version, or a refusal."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy.orm import Session

from ingest_svc.blobs.files import FileBlobs
from ingest_svc.lifecycle import DocumentState, JobStage
from ingest_svc.metadata import DocumentMetadata
from ingest_svc.registry import jobs, versions
from ingest_svc.registry.activation import activate_version
from ingest_svc.registry.database import Database
from ingest_svc.registry.migrate import upgrade
from ingest_svc.registry.records import Version
from ingest_svc.replacing import Replacing
from ingest_svc.source_watch.deposit import KnowledgeBaseDeposit
from ingest_svc.source_watch.model import Content, Validators
from ingest_svc.submission import Submission
from ingest_svc.uploads.header import MAX_CHUNK_BYTES, UploadLimits
from radref.errors import InvalidInput, PreconditionFailed

NOW = datetime(2026, 11, 30, tzinfo=UTC)
SAFETY = DocumentMetadata(topic="safety", source="https://example.org/act")


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    made = Database(f"sqlite:///{tmp_path / 'registry.sqlite3'}")
    upgrade(made.engine)
    yield made
    made.close()


@pytest.fixture
def deposit(database: Database, tmp_path: Path) -> KnowledgeBaseDeposit:
    limits = UploadLimits(max_bytes=3 * MAX_CHUNK_BYTES, topics=("safety",))
    blobs = FileBlobs(tmp_path / "blobs")
    return KnowledgeBaseDeposit(
        database=database,
        submission=Submission(database=database, blobs=blobs, limits=limits, wake=lambda: None),
        replacing=Replacing(database=database, blobs=blobs, limits=limits, wake=lambda: None),
    )


async def put(deposit: KnowledgeBaseDeposit, data: bytes, *, trusted: bool = False) -> tuple[int, bool]:
    done = await deposit.put(
        "act", Content(data, "act.html", Validators()), SAFETY, actor="source-watch:acts", trusted=trusted
    )
    assert done.document_id == "act"
    return done.version, done.duplicate


async def end(database: Database, version: int, state: DocumentState) -> Version:
    """Brings a version to a state as its job would, and ends the job."""

    def work(session: Session) -> Version:
        job = jobs.newest_job(session, "act", version)
        assert job is not None
        jobs.finish(session, job.id, JobStage.DONE, NOW)
        versions.change_state(session, "act", version, DocumentState.PARSED, NOW)
        if state is DocumentState.INDEXED:
            versions.change_state(session, "act", version, DocumentState.APPROVED, NOW)
            activate_version(session, "act", version, NOW)
        elif state is not DocumentState.PARSED:
            versions.change_state(session, "act", version, state, NOW)
        return versions.get_version(session, "act", version)

    return await database.write(work)


async def test_a_change_is_the_next_version(database: Database, deposit: KnowledgeBaseDeposit) -> None:
    assert await put(deposit, b"x" * (2 * MAX_CHUNK_BYTES + 1)) == (1, False)
    first = await end(database, 1, DocumentState.INDEXED)
    assert (first.submitted_by, first.trusted, first.metadata.source) == (
        "source-watch:acts",
        False,
        "https://example.org/act",
    )
    assert await put(deposit, b"x" * (2 * MAX_CHUNK_BYTES + 1)) == (1, True)
    assert await put(deposit, b"two", trusted=True) == (2, False)
    assert (await end(database, 2, DocumentState.INDEXED)).trusted


async def test_a_change_overtakes_one_that_awaits_its_review(
    database: Database, deposit: KnowledgeBaseDeposit
) -> None:
    await put(deposit, b"one")
    await end(database, 1, DocumentState.PARSED)
    assert await put(deposit, b"two") == (2, False)


async def test_a_change_during_the_work_waits(deposit: KnowledgeBaseDeposit) -> None:
    await put(deposit, b"one")
    with pytest.raises(PreconditionFailed):
        await put(deposit, b"two")


async def test_a_rejected_document_may_change_and_is_reviewed_again(
    database: Database, deposit: KnowledgeBaseDeposit
) -> None:
    await put(deposit, b"one")
    await end(database, 1, DocumentState.REJECTED)
    assert await put(deposit, b"two") == (2, False)


async def test_a_withdrawn_document_does_not_come_back_by_itself(
    database: Database, deposit: KnowledgeBaseDeposit
) -> None:
    await put(deposit, b"one")
    await end(database, 1, DocumentState.WITHDRAWN)
    with pytest.raises(PreconditionFailed, match="withdrawn"):
        await put(deposit, b"two", trusted=True)


async def test_what_is_too_large_is_refused(deposit: KnowledgeBaseDeposit) -> None:
    with pytest.raises(InvalidInput) as refused:
        await put(deposit, b"x" * (3 * MAX_CHUNK_BYTES + 1))
    assert refused.value.reason == "FILE_TOO_LARGE"
