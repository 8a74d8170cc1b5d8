"""The generations of an index on a Qdrant server: a set of collections for each."""

from __future__ import annotations

from collections.abc import Sequence

from radref.errors import PreconditionFailed
from retrieval_svc.store.protocol import GenerationState
from retrieval_svc.store.server import points
from retrieval_svc.store.server.collections import (
    RESERVED,
    Collections,
    GenerationNames,
    Layout,
    generations_collection,
)
from retrieval_svc.store.server.connection import Server
from retrieval_svc.store.server.records import Records
from retrieval_svc.store.server.store import ServerStore


class ServerGenerations:
    """Implements `GenerationStores` on a server. One process writes to an index: nothing here enforces it.

    Args:
        server: closed by `close`.
        prefix: of the names of all collections; another index on the same server has another one.
        topics: the site's topics; a collection is made when its first document is staged.

    Raises:
        PreconditionFailed: a topic has the name of another collection (INVALID_STATE).
    """

    def __init__(self, server: Server, *, prefix: str, topics: Sequence[str], layout: Layout) -> None:
        if taken := sorted(RESERVED & set(topics)):
            raise PreconditionFailed(
                f"on a Qdrant server a topic cannot be called {' or '.join(taken)}: choose another name"
            )
        self._server = server
        self._prefix = prefix
        self._topics = tuple(topics)
        self._collections = Collections(server, layout)
        self._name = generations_collection(prefix)
        self._records = Records(server, self._name)
        self._checked = False

    async def state(self) -> GenerationState:
        await self._check()
        if self._name not in await self._collections.names():
            return GenerationState()
        found = await self._records.get([points.GENERATIONS_ID])
        return points.state_from(found[0]) if found else GenerationState()

    async def record(self, state: GenerationState) -> None:
        await self._collections.make_records(self._name)
        await self._records.put([points.state_point(state)], again=False)

    async def open(self, name: str) -> ServerStore:
        await self._check()
        names = GenerationNames(self._prefix, name)
        store = ServerStore(self._server, self._collections, names, self._topics)
        await store.open(await self._collections.names())
        return store

    async def delete(self, name: str) -> None:
        names = GenerationNames(self._prefix, name)
        # The catalogue last: what still has one is deleted again, never taken for an empty index.
        owned = names.of(await self._collections.names())
        for one in (*sorted(owned - {names.catalogue}), *(owned & {names.catalogue})):
            await self._collections.delete(one)

    async def close(self) -> None:
        await self._server.close()

    async def _check(self) -> None:
        """Once, before anything is read: a server that is there later refuses what it does not know."""
        if not self._checked:
            await self._server.check()
            self._checked = True
