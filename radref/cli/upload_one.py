"""One file into the knowledge base: new, unchanged, or a new version of the document it was before."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from typing import TypeVar

from radref.api.common.v1 import documents_pb2
from radref.api.ingest.v1 import ingest_pb2
from radref.cli.jobs import WATCH_SECONDS
from radref.cli.names import failure_text, moment, state_name
from radref.cli.uploads import Result, Upload, Verdict
from radref.errors import InvalidInput, NotFound, Overloaded, PreconditionFailed, RadrefError
from radref.knowledge_base import KnowledgeBase

BUSY_RETRIES = 20
# The index holds nothing of such a version; the next upload under its id is a fresh start.
_NOT_TAKEN = frozenset(
    {
        documents_pb2.DOCUMENT_STATE_FAILED,
        documents_pb2.DOCUMENT_STATE_REJECTED,
        documents_pb2.DOCUMENT_STATE_WITHDRAWN,
    }
)

# It is the upload that is wrong; any other error may be gone tomorrow.
_THE_FILE = (InvalidInput, NotFound, PreconditionFailed)

T = TypeVar("T")
Report = Callable[[ingest_pb2.Job], Awaitable[None]]


async def upload_one(kb: KnowledgeBase, upload: Upload, report: Report, *, reopen: bool) -> Result:
    """Uploads a file where that changes anything, and follows its job.

    Args:
        report: told every state of the job.
        reopen: also upload what was withdrawn, and bytes that were rejected or could not be read.
    """
    try:
        data = await asyncio.to_thread(upload.path.read_bytes)
    except OSError as exc:
        return Result(upload.path, Verdict.FAILED, f"cannot be read: {exc.strerror}")
    try:
        newest = await _newest(kb, upload.document_id)
        if newest is not None:
            _check_same_document(upload, newest)
            if settled := await asyncio.to_thread(_settled, upload, newest, data, reopen):
                return settled
        if newest is None or (newest.state in _NOT_TAKEN and not newest.active_version):
            return await _submit(kb, upload, data, report)
        return await _replace(kb, upload, data, report)
    except RadrefError as exc:
        verdict = Verdict.REFUSED if isinstance(exc, _THE_FILE) else Verdict.FAILED
        return Result(upload.path, verdict, f"{exc.reason}: {exc.message}", upload.document_id)


async def _newest(kb: KnowledgeBase, document_id: str) -> ingest_pb2.DocumentSummary | None:
    if not document_id:
        return None
    try:
        versions = await unhurried(lambda: kb.list_versions(document_id))
    except (NotFound, InvalidInput):
        # An id that cannot be one is refused by the upload, with the service's own words.
        return None
    return versions[-1] if versions else None


def _check_same_document(upload: Upload, newest: ingest_pb2.DocumentSummary) -> None:
    """Two folders may hold different files of one name: the second must not replace the first unasked."""
    if not upload.id_from_path:
        return
    topic = newest.metadata.topic
    if newest.file_name != upload.path.name.strip() or topic != upload.metadata.topic:
        raise PreconditionFailed(
            f"its path gives the id of another document, {newest.document_id} ({newest.file_name}, topic "
            f"{topic}). For a document of its own give it a doc_id in a manifest.jsonl; for a new version: "
            f"radref kb replace {newest.document_id} FILE"
        )


def _settled(upload: Upload, newest: ingest_pb2.DocumentSummary, data: bytes, reopen: bool) -> Result | None:
    """The result of a file that needs no upload; None when it does."""
    same = newest.sha256 == hashlib.sha256(data).hexdigest()
    version = f"version {newest.version} of {newest.document_id}"
    state = newest.state

    def result(verdict: Verdict, reason: str) -> Result:
        return Result(upload.path, verdict, reason, newest.document_id)

    if state == documents_pb2.DOCUMENT_STATE_WITHDRAWN:
        since = f" on {moment(newest.ended_at)} UTC" if newest.HasField("ended_at") else ""
        reason = f"{newest.document_id} was withdrawn{since}; --reopen uploads it again"
        return None if reopen else result(Verdict.SKIPPED, reason)
    if not same:
        return None
    if state == documents_pb2.DOCUMENT_STATE_REJECTED:
        reason = f"rejected as {version}; --reopen uploads it again"
        return None if reopen else result(Verdict.SKIPPED, reason)
    if state == documents_pb2.DOCUMENT_STATE_FAILED:
        # The same bytes fail in the same way, and each upload would be one more failed version.
        if reopen or newest.failure.retryable:
            return None
        return result(Verdict.REFUSED, f"{failure_text(newest.failure)} (as before; --reopen tries again)")
    if state == documents_pb2.DOCUMENT_STATE_PARSED:
        reason = f"unchanged: {version}; it waits for review: radref kb approve {newest.document_id}"
        return result(Verdict.SKIPPED, reason)
    return result(Verdict.SKIPPED, f"unchanged: {version}, {state_name(state)}")


async def _submit(kb: KnowledgeBase, upload: Upload, data: bytes, report: Report) -> Result:
    response = await unhurried(
        lambda: kb.submit_file(data, upload.path.name, upload.metadata, document_id=upload.document_id)
    )
    if response.duplicate:
        return Result(
            upload.path, Verdict.SKIPPED, f"same content as {response.document_id}", response.document_id
        )
    return await _follow(kb, upload, response.document_id, response.version, response.job_id, report)


async def _replace(kb: KnowledgeBase, upload: Upload, data: bytes, report: Report) -> Result:
    try:
        response = await unhurried(
            lambda: kb.replace_file(upload.document_id, data, upload.path.name, upload.metadata)
        )
    except PreconditionFailed as exc:
        holder = exc.metadata.get("document_id", upload.document_id)
        if holder == upload.document_id:
            raise
        return Result(
            upload.path,
            Verdict.SKIPPED,
            f"same content as {holder}; {upload.document_id} stays as it is",
            upload.document_id,
        )
    if response.duplicate:
        return Result(
            upload.path,
            Verdict.SKIPPED,
            f"same content as version {response.version} of {upload.document_id}",
            upload.document_id,
        )
    return await _follow(kb, upload, upload.document_id, response.version, response.job_id, report)


async def unhurried(ask: Callable[[], Awaitable[T]]) -> T:
    """The answer; asks again while the service is too busy, when it says to."""
    for attempt in range(BUSY_RETRIES):
        try:
            return await ask()
        except Overloaded as exc:
            if attempt == BUSY_RETRIES - 1:
                raise
            await asyncio.sleep(exc.retry_after or 1.0)
    raise AssertionError("unreachable")


async def _follow(
    kb: KnowledgeBase, upload: Upload, document_id: str, version: int, job_id: str, report: Report
) -> Result:
    job = ingest_pb2.Job()
    async for job in kb.watch_job(job_id, timeout=WATCH_SECONDS):
        await report(job)
    verdict, reason = _end(job)
    return Result(
        upload.path,
        verdict,
        reason,
        document_id,
        job.parents if verdict is Verdict.INDEXED else 0,
        job.children if verdict is Verdict.INDEXED else 0,
        tuple(job.warnings),
        version,
        job.embedded,
        job.reused,
    )


def _end(job: ingest_pb2.Job) -> tuple[Verdict, str]:
    if job.stage == ingest_pb2.JOB_STAGE_DONE:
        return Verdict.INDEXED, ""
    if job.stage == ingest_pb2.JOB_STAGE_AWAIT_REVIEW:
        return Verdict.WAITING, ""
    if not job.HasField("failure"):
        return Verdict.FAILED, "the ingest service stopped reporting"
    if job.failure.retryable:
        return Verdict.FAILED, f"{failure_text(job.failure)} To try again: radref kb retry {job.id}"
    return Verdict.REFUSED, failure_text(job.failure)
