"""Document locks that all processes on one PostgreSQL share."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import psycopg

from ingest_svc.registry.database_url import parse_database_url
from ingest_svc.registry.postgres import PostgresTimeouts, connect_arguments
from radref.errors import Unavailable

Connection = psycopg.AsyncConnection[Any]


class AdvisoryLocks:
    """Session-level advisory locks, each on a connection of its own.

    The server lets go of a lock when its connection ends: at once when the process dies, after
    `PostgresTimeouts.dead_peer` when its machine does. A pooler between us and the server must keep one
    session per connection (PgBouncer: pool_mode=session).
    """

    def __init__(self, url: str, *, timeouts: PostgresTimeouts | None = None) -> None:
        """
        Args:
            url: of the registry, on PostgreSQL.

        Raises:
            ValueError: the URL is not one of a registry.
        """
        parsed = parse_database_url(url)
        # Whoever waits says how long; and the server may be silent for as long as the lock is held.
        timeouts = replace(timeouts or PostgresTimeouts(), statement=0)
        arguments = connect_arguments(parsed, timeouts, lock_timeout_ms=0)
        arguments["options"] = f"{arguments['options']} -c idle_session_timeout=0"
        _, address = parsed.get_dialect()().create_connect_args(parsed)
        self._arguments: dict[str, Any] = {**address, **arguments}

    @asynccontextmanager
    async def of(self, document_id: str) -> AsyncIterator[None]:
        """Holds the document's lock; waits for it until cancelled. See `ProcessLocks.of`."""
        connection = await self._taken(_key(document_id))
        try:
            async with _while_connected(connection, document_id):
                yield
        finally:
            # Ends the session, and with it the lock.
            await connection.close()

    async def _taken(self, key: int) -> Connection:
        # Raised outside of the handler: messages of the driver hold the address.
        cause = ""
        try:
            connection: Connection = await psycopg.AsyncConnection.connect(**self._arguments, autocommit=True)
            try:
                await connection.execute("SELECT pg_advisory_lock(%s)", (key,))
            except BaseException:
                await connection.close()
                raise
            else:
                return connection
        except psycopg.Error as exc:
            cause = type(exc).__name__
        raise Unavailable("The registry database does not answer.", metadata={"cause": cause})


def _key(document_id: str) -> int:
    """64 bits of the id's hash, signed; two ids that share them would merely wait for each other."""
    digest = hashlib.sha256(b"radref document\0" + document_id.encode()).digest()
    return int.from_bytes(digest[:8], "big", signed=True)


@asynccontextmanager
async def _while_connected(connection: Connection, document_id: str) -> AsyncIterator[None]:
    """Breaks off what is done inside as soon as the connection, and with it the lock, is lost."""
    loop = asyncio.get_running_loop()
    scope = asyncio.timeout(None)

    async def watch() -> None:
        try:
            # Nobody notifies: this listens for the end of the connection.
            async for _ in connection.notifies():
                pass
        except psycopg.Error:
            scope.reschedule(loop.time())

    try:
        async with scope:
            watcher = asyncio.create_task(watch(), name="document-lock")
            try:
                yield
            finally:
                watcher.cancel()
                await asyncio.wait([watcher])
    except TimeoutError:
        if not scope.expired():
            raise
        raise Unavailable(
            f"The lock of document {document_id} was lost: the registry database went away.",
        ) from None
