"""Brings what changed at a source into the knowledge base as a new version; flags what vanished there."""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

import structlog
from sqlalchemy.orm import Session

from ingest_svc.metadata import DocumentMetadata
from ingest_svc.registry import audit, watched_files
from ingest_svc.registry.database import Database
from ingest_svc.registry.watched_files import WatchedFile
from ingest_svc.source_watch.deposit import Deposited
from ingest_svc.source_watch.folder import list_files, look_at_file
from ingest_svc.source_watch.model import Content, Gone, Look, LookFailed, Source, Unchanged, Validators
from ingest_svc.source_watch.web import Web
from radref.errors import RadrefError, Unavailable

MAX_LOCATION = 2000
# A file younger than this may still be being copied; the next check takes it.
SETTLE_SECONDS = 10.0

log = structlog.get_logger()


class Deposit(Protocol):
    """The way into the knowledge base."""

    async def put(
        self, document_id: str, content: Content, metadata: DocumentMetadata, *, actor: str, trusted: bool
    ) -> Deposited:
        """A new document, or a new version of it; the same bytes again change nothing.

        Raises:
            RadrefError: why it is not taken in, e.g. because the document was withdrawn.
        """
        ...


@dataclass(slots=True)
class WatchCounts:
    """What one check of all sources found."""

    looked: int = 0
    new_versions: int = 0
    vanished: int = 0
    failed: int = 0


class SourceWatch:
    """Checks the sources, one after the other."""

    def __init__(
        self,
        *,
        database: Database,
        sources: Sequence[Source],
        web: Web,
        deposit: Deposit,
        exclusive: Callable[[str], AbstractAsyncContextManager[object]],
        max_bytes: int,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """
        Args:
            exclusive: a lock by name, held by one worker at a time.
            max_bytes: size of a document at most.
            now: the clock, UTC.
        """
        self._database = database
        self._sources = sources
        self._web = web
        self._deposit = deposit
        self._exclusive = exclusive
        self._max_bytes = max_bytes
        self._now = now

    async def keep_watching(self, interval: float) -> None:
        """Checks at once and then every `interval` seconds until cancelled."""
        while True:
            try:
                counts = await self.check()
                log.info(
                    "sources checked",
                    looked=counts.looked,
                    new_versions=counts.new_versions,
                    vanished=counts.vanished,
                    failed=counts.failed,
                )
            except RadrefError as exc:
                log.warning("sources not checked", reason=exc.reason)
            await asyncio.sleep(interval)

    async def check(self) -> WatchCounts:
        """Looks at every location once. What fails is noted at its location and does not stop the others.

        Raises:
            Unavailable: the registry does not answer.
        """
        counts = WatchCounts()
        for source in self._sources:
            async with self._exclusive(f"source-watch {source.name}"):
                async for location, look in self._looks(source):
                    counts.looked += 1
                    await self._take(source, location, look, counts)
        return counts

    async def _looks(self, source: Source) -> AsyncIterator[tuple[str, Look | LookFailed]]:
        known = {
            seen.location: seen
            for seen in await self._database.read(
                lambda session: watched_files.list_watched(session, source=source.name)
            )
        }
        if source.folder is not None:
            async for found in self._looks_at_folder(source.folder, known):
                yield found
        for url in source.urls:
            try:
                yield url, await self._web.look(url, _validators(known.get(url)))
            except LookFailed as failure:
                yield url, failure

    async def _looks_at_folder(
        self, folder: Path, known: dict[str, WatchedFile]
    ) -> AsyncIterator[tuple[str, Look | LookFailed]]:
        below = f"{_location(folder)}{os.sep}"
        expected = {location for location in known if location.startswith(below)}
        try:
            paths = await asyncio.to_thread(list_files, folder)
            if expected and not paths:
                raise LookFailed(f"the folder {folder} is empty: is it mounted?")
        except LookFailed as failure:
            for location in sorted(expected) or [_location(folder)]:
                yield location, failure
            return
        if _location(folder) in known:
            # A failure of the folder itself is over.
            yield _location(folder), Unchanged()
        for path in paths:
            location = _location(path)
            try:
                yield (
                    location,
                    await asyncio.to_thread(
                        look_at_file,
                        path,
                        _validators(known.get(location)),
                        now=self._now().timestamp(),
                        settle=SETTLE_SECONDS,
                        max_bytes=self._max_bytes,
                    ),
                )
            except LookFailed as failure:
                yield location, failure
        for location in sorted(expected - {_location(path) for path in paths}):
            yield location, Gone()

    async def _take(
        self, source: Source, location: str, look: Look | LookFailed, counts: WatchCounts
    ) -> None:
        if len(location) > MAX_LOCATION:
            log.warning("watched location is too long", source=source.name, characters=len(location))
            counts.failed += 1
            return
        seen = await self._database.read(lambda session: watched_files.find_watched(session, location))
        now = self._now()
        before = seen or WatchedFile(location, source.name, "", "", "", "", now, now, None, "")
        match look:
            case LookFailed():
                counts.failed += 1
                await self._note(replace(before, source=source.name, checked_at=now, failure=str(look)))
            case Unchanged():
                # A file that is still being written and was never seen has nothing to note.
                if seen is not None:
                    await self._note(replace(before, checked_at=now, vanished_at=None, failure=""))
            case Gone():
                counts.vanished += before.vanished_at is None
                await self._note_gone(source, before, now)
            case Content():
                await self._take_content(source, before, look, counts)

    async def _take_content(
        self, source: Source, before: WatchedFile, content: Content, counts: WatchCounts
    ) -> None:
        now = self._now()
        sha256 = hashlib.sha256(content.data).hexdigest()
        seen = replace(
            before,
            source=source.name,
            etag=content.validators.etag,
            last_modified=content.validators.last_modified,
            checked_at=now,
            vanished_at=None,
            failure="",
        )
        if sha256 == before.sha256:
            await self._note(seen)
            return
        metadata = source.metadata
        if not metadata.source:
            metadata = replace(metadata, source=before.location)
        document_id = before.document_id or _document_id(before.location)
        try:
            done = await self._deposit.put(
                document_id, content, metadata, actor=f"source-watch:{source.name}", trusted=source.trusted
            )
        except Unavailable:
            raise
        except RadrefError as refusal:
            # The validators stay as they were: the next check tries again.
            counts.failed += 1
            await self._note(replace(before, source=source.name, checked_at=now, failure=refusal.message))
            return
        counts.new_versions += not done.duplicate
        await self._note(replace(seen, document_id=done.document_id, sha256=sha256, changed_at=now))

    async def _note(self, seen: WatchedFile) -> None:
        if seen.failure:
            log.warning("watched location failed", source=seen.source, location=seen.location)
        await self._database.write(lambda session: watched_files.put_watched(session, seen))

    async def _note_gone(self, source: Source, before: WatchedFile, now: datetime) -> None:
        gone = replace(before, checked_at=now, vanished_at=before.vanished_at or now, failure="")

        def work(session: Session) -> None:
            watched_files.put_watched(session, gone)
            if before.vanished_at is None and before.document_id:
                audit.add_event(
                    session,
                    at=now,
                    actor=f"source-watch:{source.name}",
                    action="vanished",
                    document_id=before.document_id,
                    version=0,
                    reason=before.location,
                )

        await self._database.write(work)


def _validators(seen: WatchedFile | None) -> Validators:
    # After a failure nothing is known to be in the knowledge base: the content itself must be seen again.
    if seen is None or seen.failure or not seen.sha256:
        return Validators()
    return Validators(seen.etag, seen.last_modified)


def _location(path: Path) -> str:
    # A name that is not UTF-8 must not break the registry.
    return os.fsencode(path.absolute()).decode("utf-8", "backslashreplace")


def _document_id(location: str) -> str:
    """An id that people recognise and that the location alone decides."""
    readable = re.sub(r"[^A-Za-z0-9]+", "-", location.partition("://")[2] or Path(location).name).strip("-")
    digest = hashlib.sha256(location.encode()).hexdigest()[:8]
    return f"{readable[-100:].strip('-').lower() or 'document'}-{digest}"
