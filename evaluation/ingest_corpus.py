"""Puts documents into the system under measurement through the public ingest API."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, Protocol

from evaluation.bounded import for_each
from radref.api.common.v1 import documents_pb2, errors_pb2
from radref.api.ingest.v1 import ingest_pb2
from radref.client import RadrefClient
from radref.errors import InvalidInput, Overloaded, RadrefError, Unavailable
from radref.manifest import MANIFEST_NAME, load_manifest

ATTEMPTS = 6
# Doubled with every attempt; a service that says when to come back overrules it.
FIRST_PAUSE_SECONDS = 0.5
# Documents that an earlier, interrupted run left behind are waited for this long without any progress.
STALL_SECONDS = 180.0
POLL_SECONDS = 1.0
_UNDER_WAY = frozenset(
    {
        documents_pb2.DOCUMENT_STATE_RECEIVED,
        documents_pb2.DOCUMENT_STATE_PARSED,
        documents_pb2.DOCUMENT_STATE_APPROVED,
    }
)


@dataclass(frozen=True)
class Submitted:
    """What the service made of a submission; no job = it was there already, under `stored_id`."""

    stored_id: str
    job_id: str


class Submission(Protocol):
    """Something to index."""

    @property
    def document_id(self) -> str: ...

    async def submit(self, client: RadrefClient) -> Submitted:
        """Hands it to the ingest service, once.

        Raises:
            RadrefError: it was not taken.
            OSError: it cannot be read.
        """


@dataclass(frozen=True)
class Upload:
    """A document to index. `read` returns its bytes and may raise OSError."""

    document_id: str
    file_name: str
    metadata: documents_pb2.DocumentMetadata
    read: Callable[[], bytes]

    async def submit(self, client: RadrefClient) -> Submitted:
        data = await asyncio.to_thread(self.read)
        response = await client.submit_file(data, self.file_name, self.metadata, document_id=self.document_id)
        return Submitted(response.document_id, response.job_id)


@dataclass(frozen=True)
class UploadResult:
    """What became of an upload.

    Attributes:
        document_id: as asked for.
        stored_id: as the system knows it (another one when the same bytes are there under another id).
        status: "duplicate" = the same bytes were already indexed.
        reason: why it was refused, "REASON: message"; else "".
    """

    document_id: str
    stored_id: str
    status: Literal["indexed", "duplicate", "refused"]
    reason: str = ""


def corpus_uploads(folder: Path) -> list[Upload]:
    """Uploads of a folder's manifest, in its order.

    Raises:
        InvalidInput: the folder has no manifest, or the manifest is damaged.
    """
    entries = load_manifest(folder)
    if not entries:
        raise InvalidInput(f"{folder} has no {MANIFEST_NAME} that names documents", field="corpus")
    return [
        Upload(
            document_id=entry.document_id or Path(entry.file).stem,
            file_name=Path(entry.file).name,
            metadata=entry.metadata(),
            read=(folder / entry.file).read_bytes,
        )
        for entry in entries.values()
    ]


async def ingest(
    client: RadrefClient,
    uploads: Iterable[Submission],
    *,
    window: int,
    on_result: Callable[[UploadResult], None],
) -> list[UploadResult]:
    """Uploads documents and waits until each is searchable or refused.

    Args:
        client: has the ingest address.
        uploads: what to index.
        window: uploads in flight at a time, >= 1.
        on_result: called once an upload, as soon as it is settled (duplicates: at the end).

    Returns:
        One result an upload, in the order of `uploads`. A document that is refused does not stop the others.

    Raises:
        Unavailable, Overloaded: the service stays away through all attempts.
    """
    pending = list(uploads)
    results: list[UploadResult | None] = [None] * len(pending)

    async def settle(item: tuple[int, Submission]) -> None:
        index, upload = item
        result = await _settle(client, upload)
        results[index] = result
        if result.status != "duplicate":
            on_result(result)

    await for_each(enumerate(pending), settle, window=window)
    return await _confirm_duplicates(client, [result for result in results if result], on_result)


async def _settle(client: RadrefClient, upload: Submission) -> UploadResult:
    try:
        response = await _submit(client, upload)
        if not response.job_id:
            return UploadResult(upload.document_id, response.stored_id, "duplicate")
        reason = await _follow(client, response.job_id)
    except (Unavailable, Overloaded):
        raise
    except RadrefError as error:
        return UploadResult(upload.document_id, "", "refused", f"{error.reason}: {error.message}")
    except OSError as error:
        return UploadResult(upload.document_id, "", "refused", f"cannot be read: {error.strerror or error}")
    return UploadResult(upload.document_id, response.stored_id, "refused" if reason else "indexed", reason)


async def _submit(client: RadrefClient, upload: Submission) -> Submitted:
    attempt = 0
    while True:
        try:
            return await upload.submit(client)
        except (Overloaded, Unavailable) as error:
            attempt += 1
            if attempt == ATTEMPTS:
                raise
            await asyncio.sleep(_pause(error, attempt))


async def _follow(client: RadrefClient, job_id: str) -> str:
    """Waits for a job's end; "" when the document is searchable, else the reason."""
    attempt = 0
    while True:
        try:
            async for job in client.watch_job(job_id):
                attempt = 0
                if job.stage == ingest_pb2.JOB_STAGE_DONE:
                    return ""
                if job.stage == ingest_pb2.JOB_STAGE_FAILED:
                    return _failure(job.failure)
                if job.stage == ingest_pb2.JOB_STAGE_AWAIT_REVIEW:
                    return "awaits review: approve it first, or measure a system that trusts its uploads"
            error: RadrefError = Unavailable("the ingest service ended a job's stream before the job's end")
        except (Overloaded, Unavailable) as caught:
            error = caught
        attempt += 1
        if attempt == ATTEMPTS:
            raise error
        await asyncio.sleep(_pause(error, attempt))


def _pause(error: RadrefError, attempt: int) -> float:
    if error.retry_after is not None:
        return error.retry_after
    return FIRST_PAUSE_SECONDS * float(2 ** (attempt - 1))


def _failure(failure: ingest_pb2.JobFailure) -> str:
    name = errors_pb2.ErrorReason.Name(failure.reason).removeprefix("ERROR_REASON_")
    return f"{name}: {failure.message}"


async def _confirm_duplicates(
    client: RadrefClient, results: Sequence[UploadResult], on_result: Callable[[UploadResult], None]
) -> list[UploadResult]:
    """Waits until documents that were there before are searchable, or says that they are not."""
    open_ids = {result.stored_id for result in results if result.status == "duplicate"}
    refused: dict[str, str] = {}
    loop = asyncio.get_running_loop()
    progress_at = loop.time()
    while open_ids:
        still_open: set[str] = set()
        async for document in client.list_documents():
            if document.document_id not in open_ids or document.active_version > 0:
                continue
            if document.state in _UNDER_WAY and loop.time() - progress_at < STALL_SECONDS:
                still_open.add(document.document_id)
            else:
                refused[document.document_id] = _why_not(document)
        if len(still_open) < len(open_ids):
            progress_at = loop.time()
        open_ids = still_open
        if open_ids:
            await asyncio.sleep(POLL_SECONDS)
    settled = []
    for result in results:
        if result.status == "duplicate":
            if reason := refused.get(result.stored_id):
                result = replace(result, status="refused", reason=reason)
            on_result(result)
        settled.append(result)
    return settled


def _why_not(document: ingest_pb2.DocumentSummary) -> str:
    if document.HasField("failure"):
        return _failure(document.failure)
    state = documents_pb2.DocumentState.Name(document.state).removeprefix("DOCUMENT_STATE_")
    return f"the same bytes are there, but not searchable: {state.lower()}"
