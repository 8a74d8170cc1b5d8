"""Uploads files and follows their jobs, a few at a time; nothing is lost from the result."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from radref.api.common.v1 import documents_pb2, errors_pb2
from radref.api.ingest.v1 import ingest_pb2
from radref.client import RadrefClient
from radref.errors import InvalidInput, Overloaded, RadrefError, Unavailable
from radref.manifest import MANIFEST_NAME, ManifestEntry, load_manifest

# Enough to keep parsing and embedding busy at the same time on a small machine.
IN_FLIGHT = 4
BUSY_RETRIES = 20


class Verdict(StrEnum):
    """What became of a file."""

    INDEXED = "indexed"
    WAITING = "waits for review"
    SKIPPED = "skipped"
    REFUSED = "refused"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Upload:
    """A file to upload and what is known of it."""

    path: Path
    document_id: str
    metadata: documents_pb2.DocumentMetadata


@dataclass(frozen=True, slots=True)
class Result:
    """What became of one file; `reason` says why it is not indexed."""

    path: Path
    verdict: Verdict
    reason: str = ""
    document_id: str = ""
    parents: int = 0
    children: int = 0
    warnings: tuple[str, ...] = ()


def find_uploads(paths: Sequence[Path], *, topic: str, language: str) -> tuple[list[Upload], list[Result]]:
    """Files under the paths, with the metadata of a manifest beside them; and files that cannot be read.

    `topic` and `language`, when given, win over the manifest: whoever types them means them. Hidden files
    and the manifest itself are not documents. A file that a manifest names and that does not exist is a
    failure, not a silence.
    """
    uploads: list[Upload] = []
    problems: list[Result] = []
    seen: set[Path] = set()
    for path in paths:
        if not path.exists():
            problems.append(Result(path, Verdict.FAILED, "no such file or folder"))
            continue
        for folder, files in _folders(path):
            manifest = load_manifest(folder)
            if path.is_dir():
                missing = sorted(set(manifest) - {file.name for file in files})
                problems += [
                    Result(folder / name, Verdict.FAILED, f"named in {MANIFEST_NAME} but not there")
                    for name in missing
                ]
            for file in files:
                if file.resolve() not in seen:
                    seen.add(file.resolve())
                    uploads.append(_upload(file, manifest.get(file.name), topic, language))
    return uploads, problems


def _folders(path: Path) -> Iterable[tuple[Path, list[Path]]]:
    if path.is_file():
        yield path.parent, [path]
        return
    for folder in sorted([path, *(p for p in path.rglob("*") if p.is_dir())]):
        if any(part.startswith(".") for part in folder.relative_to(path).parts):
            continue
        files = sorted(
            file
            for file in folder.iterdir()
            if file.is_file() and not file.name.startswith(".") and file.name != MANIFEST_NAME
        )
        if files:
            yield folder, files


def _upload(file: Path, entry: ManifestEntry | None, topic: str, language: str) -> Upload:
    metadata = entry.metadata() if entry else documents_pb2.DocumentMetadata()
    metadata.topic = topic or metadata.topic
    metadata.language = language or metadata.language
    return Upload(file, entry.document_id if entry else "", metadata)


async def upload_all(
    client: RadrefClient, uploads: Sequence[Upload]
) -> AsyncIterator[Result | ingest_pb2.Job]:
    """Yields the jobs' states as they change, and one Result a file.

    Raises:
        Unavailable: the ingest service does not answer; files without a Result were not uploaded.
    """
    events: asyncio.Queue[Result | ingest_pb2.Job] = asyncio.Queue()
    places = asyncio.Semaphore(IN_FLIGHT)

    async def one(upload: Upload) -> None:
        async with places:
            await events.put(await _upload_one(client, upload, events))

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one(upload)) for upload in uploads]
        remaining = len(tasks)
        while remaining:
            event = await events.get()
            if isinstance(event, Result):
                remaining -= 1
            yield event


async def _upload_one(
    client: RadrefClient, upload: Upload, events: asyncio.Queue[Result | ingest_pb2.Job]
) -> Result:
    try:
        data = await asyncio.to_thread(upload.path.read_bytes)
    except OSError as exc:
        return Result(upload.path, Verdict.FAILED, f"cannot be read: {exc.strerror}")
    try:
        response = await _submit(client, upload, data)
        if response.duplicate:
            return Result(
                upload.path,
                Verdict.SKIPPED,
                f"same content as {response.document_id}",
                document_id=response.document_id,
            )
        last = ingest_pb2.Job()
        async for job in client.watch_job(response.job_id):
            last = job
            await events.put(job)
    except Unavailable as exc:
        return Result(upload.path, Verdict.FAILED, f"{exc.reason}: {exc.message}")
    except RadrefError as exc:
        return Result(upload.path, Verdict.REFUSED, f"{exc.reason}: {exc.message}")
    return _of_job(upload.path, last)


async def _submit(client: RadrefClient, upload: Upload, data: bytes) -> ingest_pb2.SubmitDocumentResponse:
    for attempt in range(BUSY_RETRIES):
        try:
            return await client.submit_file(
                data, upload.path.name, upload.metadata, document_id=upload.document_id
            )
        except Overloaded as exc:
            if attempt == BUSY_RETRIES - 1:
                raise
            await asyncio.sleep(exc.retry_after or 1.0)
    raise AssertionError("unreachable")


def _of_job(path: Path, job: ingest_pb2.Job) -> Result:
    warnings = tuple(job.warnings)
    if job.stage == ingest_pb2.JOB_STAGE_DONE:
        return Result(path, Verdict.INDEXED, "", job.document_id, job.parents, job.children, warnings)
    if job.stage == ingest_pb2.JOB_STAGE_AWAIT_REVIEW:
        return Result(path, Verdict.WAITING, "", job.document_id, warnings=warnings)
    if not job.HasField("failure"):
        return Result(path, Verdict.FAILED, "the ingest service stopped reporting", job.document_id)
    reason = errors_pb2.ErrorReason.Name(job.failure.reason).removeprefix("ERROR_REASON_")
    verdict = Verdict.FAILED if job.failure.retryable else Verdict.REFUSED
    return Result(path, verdict, f"{reason}: {job.failure.message}", job.document_id, warnings=warnings)


def require_topics(uploads: Sequence[Upload]) -> None:
    """Raises InvalidInput when a file has no topic: it names the first and what to do."""
    without = [upload.path for upload in uploads if not upload.metadata.topic]
    if without:
        more = f" (and {len(without) - 1} more)" if len(without) > 1 else ""
        raise InvalidInput(
            f"{without[0]}{more} has no topic: give --topic, or a {MANIFEST_NAME} beside the file",
            reason="UNKNOWN_TOPIC",
        )
