"""Records without vectors in one collection: read and written by their id."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

from qdrant_client import models

from retrieval_svc.store.payloads import Payload
from retrieval_svc.store.server.connection import Server
from retrieval_svc.store.server.failures import damaged

# Statistics of a document take up to some 100 kB.
_BATCH = 64
_PAGE = 1000


class Records:
    """Records of a collection, which exists."""

    def __init__(self, server: Server, collection: str) -> None:
        self._server = server
        self._collection = collection

    async def put(self, points: Sequence[models.PointStruct], *, again: bool) -> None:
        """Writes or replaces records, durable and visible when it returns.

        Args:
            again: as in `Server.write`: never for a record that is replaced with time.
        """
        for start in range(0, len(points), _BATCH):
            batch = list(points[start : start + _BATCH])
            await self._server.write(
                lambda client, seconds: client.upsert(
                    self._collection,
                    batch,  # noqa: B023 - awaited here
                    wait=True,
                    ordering=models.WriteOrdering.STRONG,
                    timeout=seconds,
                ),
                again=again,
            )

    async def delete(self, ids: Sequence[str]) -> None:
        """Deletes records; those that are not there are no error."""
        if not ids:
            return
        await self._server.write(
            lambda client, seconds: client.delete(
                self._collection,
                models.PointIdsList(points=list(ids)),
                wait=True,
                ordering=models.WriteOrdering.STRONG,
                timeout=seconds,
            ),
            again=True,
        )

    async def get(self, ids: Sequence[str]) -> list[Payload]:
        """Payloads of those that are there, in any order."""
        found: list[Payload] = []
        for start in range(0, len(ids), _BATCH):
            batch = list(ids[start : start + _BATCH])
            records = await self._server.read(
                lambda client, seconds: client.retrieve(
                    self._collection,
                    batch,  # noqa: B023 - awaited here
                    with_payload=True,
                    timeout=seconds,
                )
            )
            found += map(payload_of, records)
        return found

    async def all(self, *, without: str) -> AsyncIterator[Payload]:
        """Every payload, without one of its keys."""
        offset: Any = None
        while True:
            records, offset = await self._server.read(
                lambda client, seconds: client.scroll(
                    self._collection,
                    limit=_PAGE,
                    offset=offset,  # noqa: B023 - awaited here
                    with_payload=models.PayloadSelectorExclude(exclude=[without]),
                    timeout=seconds,
                )
            )
            for record in records:
                yield payload_of(record)
            if offset is None:
                return


def payload_of(record: models.Record) -> Payload:
    """Payload of a record that was read with it."""
    if not record.payload:
        raise damaged()
    return record.payload
