"""Finds files and uploads them, a few at a time; nothing is lost from the result."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from pathlib import Path, PurePath
from shlex import quote

from radref.api.common.v1 import documents_pb2
from radref.api.ingest.v1 import ingest_pb2
from radref.appropriateness.kb_file import looks_like_kb
from radref.cli.path_ids import path_document_id
from radref.cli.upload_one import upload_one
from radref.cli.uploads import Result, Upload, Verdict
from radref.client import RadrefClient
from radref.errors import InvalidInput
from radref.manifest import MANIFEST_NAME, ManifestEntry, load_manifest

# Enough to keep parsing and embedding busy at the same time on a small machine.
IN_FLIGHT = 4


def find_uploads(paths: Sequence[Path], *, topic: str, language: str) -> tuple[list[Upload], list[Result]]:
    """Files under the paths, with the metadata of a manifest beside them; and what cannot be uploaded.

    `topic` and `language`, when given, win over the manifest: whoever types them means them. Hidden files
    and the manifest itself are not documents. A file that a manifest names and that does not exist is a
    failure, not a silence. A document id that the manifest does not give comes from the path inside the
    folder given (see `path_document_id`). Of files that would be the same document, none is uploaded.
    """
    uploads: list[Upload] = []
    problems: list[Result] = []
    seen: set[Path] = set()
    for path in paths:
        if not path.exists():
            problems.append(Result(path, Verdict.FAILED, "no such file or folder"))
            continue
        root = path if path.is_dir() else path.parent
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
                    if not _is_text(file.name):
                        problems.append(Result(file, Verdict.REFUSED, "its name is not UTF-8: rename it"))
                        continue
                    if looks_like_kb(file):
                        problems.append(Result(file, Verdict.REFUSED, _variants(file)))
                        continue
                    entry = manifest.get(file.name)
                    uploads.append(_upload(file, file.relative_to(root), entry, topic, language))
    clashing = _clashes(uploads)
    return [upload for upload in uploads if upload.document_id not in clashing], problems + [
        Result(upload.path, Verdict.REFUSED, clashing[upload.document_id])
        for upload in uploads
        if upload.document_id in clashing
    ]


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


def _upload(file: Path, relative: PurePath, entry: ManifestEntry | None, topic: str, language: str) -> Upload:
    metadata = entry.metadata() if entry else documents_pb2.DocumentMetadata()
    metadata.topic = topic or metadata.topic
    metadata.language = language or metadata.language
    if entry and entry.document_id:
        return Upload(file, entry.document_id, metadata)
    return Upload(file, path_document_id(relative), metadata, id_from_path=True)


def _variants(file: Path) -> str:
    command = f"radref kb load-variants {quote(str(file))}"
    return f"a knowledge base of appropriateness variants, not a document: {command}"


def _is_text(name: str) -> bool:
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _clashes(uploads: Sequence[Upload]) -> dict[str, str]:
    """Why files of one run cannot all be uploaded, by the document id that they share."""
    by_id: dict[str, list[Path]] = {}
    for upload in uploads:
        by_id.setdefault(upload.document_id, []).append(upload.path)
    return {
        document_id: f"{' and '.join(map(str, files))} would both be document {document_id}: give each a "
        f"doc_id of its own in {MANIFEST_NAME}"
        for document_id, files in by_id.items()
        if len(files) > 1
    }


async def upload_all(
    client: RadrefClient, uploads: Sequence[Upload], *, reopen: bool = False
) -> AsyncIterator[Result | ingest_pb2.Job]:
    """Yields the jobs' states as they change, and one Result a file; `reopen` as in `upload_one`."""
    events: asyncio.Queue[Result | ingest_pb2.Job] = asyncio.Queue()
    places = asyncio.Semaphore(IN_FLIGHT)

    async def one(upload: Upload) -> None:
        async with places:
            await events.put(await upload_one(client.kb, upload, events.put, reopen=reopen))

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one(upload)) for upload in uploads]
        remaining = len(tasks)
        while remaining:
            event = await events.get()
            if isinstance(event, Result):
                remaining -= 1
            yield event


def require_topics(uploads: Sequence[Upload]) -> None:
    """Raises InvalidInput when a file has no topic: it names the first and what to do."""
    without = [upload.path for upload in uploads if not upload.metadata.topic]
    if without:
        more = f" (and {len(without) - 1} more)" if len(without) > 1 else ""
        raise InvalidInput(
            f"{without[0]}{more} has no topic: give --topic, or a {MANIFEST_NAME} beside the file",
            reason="UNKNOWN_TOPIC",
        )
