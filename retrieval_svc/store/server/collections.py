"""Collections of an index on a Qdrant server: names, configurations, payload indexes.

<prefix>-generations              one record: which generation is searched
<prefix>-<generation>-catalogue   identity of the index, stages, documents; payload only
<prefix>-<generation>-parents     sparse vectors, text of the parents
<prefix>-<generation>-<topic>     dense and sparse vectors of the topic's children
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import structlog
from qdrant_client import models

from radref.errors import PreconditionFailed, Unavailable
from retrieval_svc.store.payloads import DENSE, SPARSE
from retrieval_svc.store.server.conditions import CHILD_FIELDS, PARENT_FIELDS
from retrieval_svc.store.server.connection import Server

log = structlog.get_logger()

# Topics may not have the name of another collection of a generation.
RESERVED = frozenset({"catalogue", "parents"})
_FIRST_GENERATION = "first"


@dataclass(frozen=True, slots=True)
class Layout:
    """How new collections lie on the nodes; what exists is not changed.

    Attributes:
        shards: of each collection; 0 = the server's default.
        replicas: copies of each shard, >= 1.
        write_replicas: copies that must have a write before it counts as done; 0 = all of them.
        on_disk: vectors and their indexes are read from disk instead of being held in memory.
    """

    shards: int = 0
    replicas: int = 1
    write_replicas: int = 0
    on_disk: bool = False

    def arguments(self) -> dict[str, int]:
        """Arguments of `create_collection`."""
        placed = {
            "replication_factor": self.replicas,
            "write_consistency_factor": self.write_replicas or self.replicas,
        }
        return {**placed, "shard_number": self.shards} if self.shards else placed


class GenerationNames:
    """Names of the collections of one generation; "" = the first one.

    Args:
        prefix: without a hyphen, so that no index finds the collections of another one.
    """

    def __init__(self, prefix: str, generation: str) -> None:
        self._stem = f"{prefix}-{generation or _FIRST_GENERATION}-"

    @property
    def catalogue(self) -> str:
        return f"{self._stem}catalogue"

    @property
    def parents(self) -> str:
        return f"{self._stem}parents"

    def children(self, topic: str) -> str:
        return self._stem + topic

    def topics(self, collections: set[str]) -> set[str]:
        """Topics that have a collection."""
        owned = {name.removeprefix(self._stem) for name in self.of(collections)}
        return owned - RESERVED

    def of(self, collections: set[str]) -> set[str]:
        """Those of this generation."""
        return {name for name in collections if name.startswith(self._stem)}


def generations_collection(prefix: str) -> str:
    return f"{prefix}-generations"


class Collections:
    """Makes, finds and deletes collections."""

    def __init__(self, server: Server, layout: Layout) -> None:
        self._server = server
        self._layout = layout

    async def names(self) -> set[str]:
        """Every collection on the server that the API key may see."""
        found = await self._server.read(lambda client, _: client.get_collections())
        return {one.name for one in found.collections}

    async def make_records(self, name: str) -> None:
        """A collection of payloads; one vector is declared, no point has it."""
        await self._make(name, {"sparse_vectors_config": {"unused": models.SparseVectorParams()}})

    async def make_parents(self, name: str) -> None:
        await self._make(name, {"sparse_vectors_config": self._sparse()})
        await self._index(name, PARENT_FIELDS)

    async def make_children(self, name: str, dimension: int) -> None:
        """Two vectors a child. No IDF modifier: the query brings its own weights, `retrieval_svc.terms`.

        Raises:
            PreconditionFailed: there is one with vectors of another length (INVALID_STATE).
        """
        on_disk = self._layout.on_disk
        dense = models.VectorParams(size=dimension, distance=models.Distance.COSINE, on_disk=on_disk)
        await self._make(
            name,
            {
                "vectors_config": {DENSE: dense},
                "sparse_vectors_config": self._sparse(),
                # Nothing else: parameters of HNSW, and no quantisation, are the server's defaults.
                "hnsw_config": models.HnswConfigDiff(on_disk=True) if on_disk else None,
            },
        )
        await self._index(name, CHILD_FIELDS, dimension)

    async def delete(self, name: str) -> None:
        """Deletes a collection; one that is not there is no error."""
        await self._server.change(lambda client, seconds: client.delete_collection(name, timeout=seconds))

    def _sparse(self) -> dict[str, models.SparseVectorParams]:
        index = models.SparseIndexParams(on_disk=self._layout.on_disk)
        return {SPARSE: models.SparseVectorParams(index=index)}

    async def _make(self, name: str, configuration: Mapping[str, Any]) -> None:
        if await self._exists(name):
            return
        arguments = {"vectors_config": {}, **configuration, **self._layout.arguments()}
        try:
            await self._server.change(
                lambda client, seconds: client.create_collection(name, timeout=seconds, **arguments)
            )
        except Unavailable:
            # Its answer may have been lost.
            if not await self._exists(name):
                raise
        log.info("collection made", collection=name)

    async def _exists(self, name: str) -> bool:
        return await self._server.read(lambda client, _: client.collection_exists(name))

    async def _index(
        self, name: str, fields: Mapping[str, models.PayloadSchemaType], dimension: int = 0
    ) -> None:
        """Makes the payload indexes that are missing, and checks the length of the dense vectors."""
        info = await self._server.read(lambda client, _: client.get_collection(name))
        vectors = info.config.params.vectors
        if dimension and not (
            isinstance(vectors, dict) and DENSE in vectors and vectors[DENSE].size == dimension
        ):
            raise PreconditionFailed(
                f"the collection {name} in the vector store has other vectors than the index says; restore "
                "the whole index from snapshots of one time"
            )
        for field, schema in fields.items():
            if field not in info.payload_schema:
                await self._server.write(
                    lambda client, _: client.create_payload_index(name, field, schema, wait=True),  # noqa: B023
                    again=True,
                )
