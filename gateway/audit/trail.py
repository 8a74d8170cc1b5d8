"""The audit trail: every request is written down, or not answered."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import structlog

from gateway.audit import entries
from gateway.audit.database import AuditDatabase
from gateway.audit.database_errors import BACKEND
from gateway.audit.model import AuditFilter, AuditPage, AuditRecord
from gateway.audit.note import Note
from gateway.audit.page_tokens import mark_of, page_size, token_of
from gateway.audit.query_hash import QueryHash
from gateway.question import tidied
from radref.errors import RadrefError, Unavailable
from radref.service.context import current_call
from radref.service.metrics import AUDIT_FAILURES

# Longer than any healthy write, shorter than a user's patience.
WRITE_TIMEOUT_SECONDS = 5.0
# Rows of one transaction of `purge`: it holds SQLite's write lock for some milliseconds.
PURGE_BATCH = 500
# The service kit ends a call so long before the caller's deadline, seconds; less time left means that it did.
_DEADLINE_MARGIN_SECONDS = 0.02

log = structlog.get_logger()


def _now() -> datetime:
    return datetime.now(UTC)


class AuditTrail:
    """Writes, finds and deletes records.

    Args:
        database: stays the caller's to close.
        query_hash: of the site's key.
        required: an answer that cannot be recorded is refused; False: it is given, and the failure counted.
        keep_query_text: keep the text of questions too.
        clock: the time now, aware.
    """

    def __init__(
        self,
        database: AuditDatabase,
        *,
        query_hash: QueryHash,
        required: bool,
        keep_query_text: bool,
        clock: Callable[[], datetime] = _now,
    ) -> None:
        self._database = database
        self._query_hash = query_hash
        self._required = required
        self._keep_query_text = keep_query_text
        self._clock = clock
        self._down = False
        self._writing: set[asyncio.Task[bool]] = set()

    @asynccontextmanager
    async def recorded(self, method: str, question: str, actor: str) -> AsyncIterator[Note]:
        """Records the request that is served inside, however it ends: answered, failed or cancelled.

        Args:
            method: RPC method, e.g. "Generate".
            question: as it was asked.
            actor: who asks, as `asker` names them.

        Yields:
            The note to put the outcome on.

        Raises:
            Unavailable: BACKEND_UNAVAILABLE (backend "audit"), the store is required and cannot be written:
                nothing of what was found may be given out.
        """
        await self._refuse_while_down()
        note, at, began = Note(), self._clock(), time.perf_counter()
        call = current_call()

        def record(error_reason: str = "") -> AuditRecord:
            query_hash = self._query_hash.of(question)
            return AuditRecord(
                request_id=call.request_id if call else "",
                at=at,
                actor=actor,
                method=method,
                query_hash=query_hash,
                query_text=tidied(question) if self._keep_query_text and query_hash else "",
                citation_ids=note.citation_ids,
                uncited_ids=note.uncited_ids,
                outcome=None if error_reason else note.outcome,
                abstention_reason=None if error_reason else note.abstention_reason,
                error_reason=error_reason,
                generator=note.generator,
                knowledge_base_version=note.knowledge_base_version,
                duration_ms=(time.perf_counter() - began) * 1000,
            )

        try:
            yield note
        except (asyncio.CancelledError, GeneratorExit):
            # Nobody waits any more, and waiting would keep the place of the next call.
            self._start(record(_why_ended()))
            raise
        except RadrefError as exc:
            # Nothing is given out, so the call's own error is the one to tell.
            await asyncio.shield(self._start(record(exc.reason)))
            raise
        except Exception:
            await asyncio.shield(self._start(record("INTERNAL")))
            raise
        await self.record(record())

    async def record(self, record: AuditRecord) -> None:
        """Writes a record; a caller that goes away meanwhile does not stop it.

        Raises:
            Unavailable: BACKEND_UNAVAILABLE (backend "audit"), the store is required and cannot be written.
        """
        if not await asyncio.shield(self._start(record)) and self._required:
            raise _withheld()

    async def query(self, wanted: AuditFilter, *, size: int = 0, token: str = "") -> AuditPage:
        """A page of records, newest first; every record that was there before the first page comes once.

        Args:
            size: records a page, 1-1000; 0 = 100.
            token: of the page; "" = the first.

        Raises:
            InvalidInput: OUT_OF_RANGE (page_size), INVALID_FIELD (page_token).
            Unavailable: BACKEND_UNAVAILABLE, the store does not answer.
        """
        limit, after = page_size(size), mark_of("a", token)
        records, last = await self._database.read(
            lambda session: entries.list_requests(session, wanted, limit=limit, after=after)
        )
        return AuditPage(tuple(records), token_of("a", last))

    async def purge(self, older_than: datetime) -> int:
        """Deletes records from before a moment, with their feedback, batch by batch. Returns how many.

        Raises:
            Unavailable: BACKEND_UNAVAILABLE; what was deleted until then stays deleted.
        """
        deleted = 0
        while True:
            batch = await self._database.write(
                lambda session: entries.delete_requests(session, older_than, PURGE_BATCH)
            )
            deleted += batch
            if batch < PURGE_BATCH:
                break
        if deleted:
            await self._database.tidy()
        return deleted

    async def close(self) -> None:
        """Waits for records that are being written."""
        if self._writing:
            await asyncio.wait(set(self._writing))

    async def _refuse_while_down(self) -> None:
        """After a failed write, asks the store first: no model works for an answer that is withheld."""
        if not (self._down and self._required):
            return
        try:
            async with asyncio.timeout(WRITE_TIMEOUT_SECONDS):
                await self._database.check()
        except (RadrefError, TimeoutError) as exc:
            self._failed(exc)
            raise _withheld() from None

    def _start(self, record: AuditRecord) -> asyncio.Task[bool]:
        task = asyncio.create_task(self._written(record), name="audit-record")
        self._writing.add(task)
        task.add_done_callback(self._writing.discard)
        return task

    async def _written(self, record: AuditRecord) -> bool:
        try:
            async with asyncio.timeout(WRITE_TIMEOUT_SECONDS):
                await self._database.write(lambda session: entries.add_request(session, record))
        except (RadrefError, TimeoutError) as exc:
            self._failed(exc)
            return False
        if self._down:
            self._down = False
            log.info("audit store is written again")
        return True

    def _failed(self, exc: RadrefError | TimeoutError) -> None:
        AUDIT_FAILURES.inc()
        # Once an outage: the metric counts the rest.
        if not self._down:
            self._down = True
            metadata = exc.metadata if isinstance(exc, RadrefError) else {"cause": "no answer in time"}
            log.error("audit store cannot be written", answers=self._policy, **metadata)

    @property
    def _policy(self) -> str:
        return "refused" if self._required else "given unrecorded"


def _withheld() -> Unavailable:
    return Unavailable(
        "the audit store cannot be written, so nothing is answered; try again shortly",
        metadata={"backend": BACKEND},
    )


def _why_ended() -> str:
    call = current_call()
    remaining = call.remaining() if call else None
    return "DEADLINE" if remaining is not None and remaining <= _DEADLINE_MARGIN_SECONDS else "CANCELLED"
