"""Generations of the index: one is searched, another one may be built beside it for another embedding model.

The switch is one durable record, so a crash leaves the old or the new generation searched, never none. What
was searched before is kept for a while: queries that began on it still find their parents there.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, replace

import structlog

from radref.errors import InvalidInput, NotFound, PreconditionFailed, Unavailable
from retrieval_svc.catalogue import Catalogue
from retrieval_svc.index import Index, ListedVersion, StageCounts
from retrieval_svc.shielded import Shielded
from retrieval_svc.staging import Batch, StageHeader
from retrieval_svc.store.protocol import GenerationState, GenerationStores, RetiredGeneration, VectorStore

log = structlog.get_logger()

_MAX_FINGERPRINT = 128


@dataclass(frozen=True, slots=True)
class Generation:
    """An index with its store and its view of documents and versions."""

    name: str
    store: VectorStore
    catalogue: Catalogue
    index: Index

    @property
    def fingerprint(self) -> str:
        """Of the model its vectors come from; empty while it is empty."""
        return self.store.identity.embedder_fingerprint if self.store.identity else ""


class Generations:
    """Opens, builds, switches and gives up generations. `open` comes first. Used on the event loop only.

    Args:
        make_index: an index over a store and its catalogue that calls the function after every change;
            `load` is called here.
        on_change: called after every change of what is searched.
    """

    def __init__(
        self,
        stores: GenerationStores,
        make_index: Callable[[VectorStore, Catalogue, Callable[[], None]], Index],
        *,
        on_change: Callable[[], None] = lambda: None,
    ) -> None:
        self._stores = stores
        self._make_index = make_index
        self._on_change = on_change
        self._switching = asyncio.Lock()
        self._shielded = Shielded()
        self._state = GenerationState()
        self._open: dict[str, Generation] = {}

    @property
    def searched(self) -> Generation:
        """The generation that queries search; a query uses one from its beginning to its end."""
        return self._open[self._state.searched]

    @property
    def building_fingerprint(self) -> str:
        """Of the model whose generation is being built; empty = none is."""
        return self._state.building_fingerprint

    @property
    def living(self) -> Sequence[Generation]:
        """The searched generation, and the one that is being built where there is one."""
        # No building is not the first generation, whose name is empty too.
        names = [self._state.searched, *([self._state.building] if self._state.building else [])]
        return [self._open[name] for name in names if name in self._open]

    @property
    def retired(self) -> Sequence[str]:
        """Names of generations that wait for `discard`."""
        return [one.name for one in self._state.retired]

    async def open(self) -> None:
        """Loads what is recorded and deletes what an earlier process no longer needed.

        Raises:
            PreconditionFailed: as `GenerationStores.state` and `open`, and `Index.load`.
            Unavailable: the store failed.
        """
        self._state = await self._stores.state()
        await self._open_generation(self._state.searched)
        if self._state.building:
            await self._open_generation(self._state.building)
        # No query of this process ever used them.
        for name in self.retired:
            await self.discard(name)
        self._on_change()

    async def close(self) -> None:
        """Closes every store, then the index."""
        try:
            for generation in self._open.values():
                await generation.store.close()
        finally:
            self._open.clear()
            await self._stores.close()

    async def stage(self, header: StageHeader, batches: AsyncIterator[Batch]) -> StageCounts:
        """`Index.stage` of the generation whose model made the vectors.

        Raises:
            Unavailable: NOT_READY, also when another model's index is searched since a moment ago: embed
                again with that one.
        """
        fingerprint = header.embedder_fingerprint
        if fingerprint and fingerprint == self._state.building_fingerprint:
            return await self._open[self._state.building].index.stage(header, batches)
        searched = self.searched
        if fingerprint != searched.fingerprint and fingerprint in self._replaced():
            raise _switched_meanwhile()
        return await searched.index.stage(header, batches)

    async def activate(self, document_id: str, version: int) -> int:
        """`Index.activate` of the searched generation.

        Raises:
            Unavailable: NOT_READY, also when the version was staged in the index that was searched until a
                moment ago: embed and stage it again.
        """
        return await self._shielded(self._activate(document_id, version))

    async def withdraw(self, document_id: str) -> int:
        """`Index.withdraw` of the searched generation; the one being built follows at the switch."""
        return await self._shielded(self._withdraw(document_id))

    async def versions(self, fingerprint: str) -> list[ListedVersion]:
        """`Index.versions` of the generation of this model; empty = of the searched one.

        Raises:
            PreconditionFailed: no index of this model is searched or being built
                (MODEL_FINGERPRINT_MISMATCH).
        """
        if fingerprint in ("", self.searched.fingerprint):
            return await self.searched.index.versions()
        return await self._building(fingerprint).index.versions()

    async def begin(self, fingerprint: str) -> None:
        """Opens a generation for another model beside the searched one. Doing it again is no error.

        Raises:
            InvalidInput: not a fingerprint.
            PreconditionFailed: the index is empty, is of this model already, or another generation is being
                built (INVALID_STATE).
            Unavailable: the store failed.
        """
        if not fingerprint.strip() or len(fingerprint) > _MAX_FINGERPRINT:
            raise InvalidInput(
                f"a fingerprint has 1-{_MAX_FINGERPRINT} characters", field="embedder_fingerprint"
            )
        await self._shielded(self._begin(fingerprint))

    async def switch(self, fingerprint: str) -> str:
        """Searches the generation of this model from now on. Doing it again is no error.

        Returns:
            Fingerprint of the model searched before; empty where that is no longer known.

        Raises:
            PreconditionFailed: no generation of this model is being built (MODEL_FINGERPRINT_MISMATCH), or
                versions are missing in it, see `Index.follow`.
            Unavailable: the store failed; the old or the new generation is searched.
        """
        return await self._shielded(self._switch(fingerprint))

    async def drop(self, fingerprint: str) -> None:
        """Gives up the generation that is being built for this model. Doing it again is no error.

        Raises:
            PreconditionFailed: it is the searched one (INVALID_STATE).
            Unavailable: the store failed.
        """
        await self._shielded(self._drop(fingerprint))

    async def discard(self, name: str) -> None:
        """Deletes a retired generation.

        Raises:
            Unavailable: the store failed; it is deleted at the next start at the latest.
        """
        await self._shielded(self._discard(name))

    async def _open_generation(self, name: str) -> Generation:
        store = await self._stores.open(name)
        catalogue = Catalogue()

        def changed() -> None:
            if name == self._state.searched and name in self._open:
                self._on_change()

        generation = Generation(name, store, catalogue, self._make_index(store, catalogue, changed))
        try:
            await generation.index.load()
        except BaseException:
            await store.close()
            raise
        self._open[name] = generation
        return generation

    def _building(self, fingerprint: str) -> Generation:
        if not fingerprint or fingerprint != self._state.building_fingerprint:
            raise PreconditionFailed(
                "no index of this embedding model is being built; begin a generation first",
                reason="MODEL_FINGERPRINT_MISMATCH",
            )
        return self._open[self._state.building]

    def _replaced(self) -> set[str]:
        """Fingerprints of models whose index was searched until a moment ago."""
        return {one.fingerprint for one in self._state.retired} - {""}

    async def _activate(self, document_id: str, version: int) -> int:
        async with self._switching:
            try:
                return await self.searched.index.activate(document_id, version)
            except NotFound:
                for one in self._state.retired:
                    left = self._open.get(one.name)
                    if one.fingerprint and left and left.catalogue.newest(document_id, version):
                        raise _switched_meanwhile() from None
                raise

    async def _withdraw(self, document_id: str) -> int:
        async with self._switching:
            return await self.searched.index.withdraw(document_id)

    async def _begin(self, fingerprint: str) -> None:
        async with self._switching:
            state = self._state
            if fingerprint == state.building_fingerprint:
                return
            if not self.searched.fingerprint:
                raise PreconditionFailed("the index is empty: there is nothing to build again")
            if fingerprint == self.searched.fingerprint:
                raise PreconditionFailed("the index is already of this embedding model")
            if state.building:
                raise PreconditionFailed(
                    "an index of another embedding model is being built: switch to it or drop it first"
                )
            name = uuid.uuid4().hex
            # An empty generation has no files yet: nothing is left behind where this fails.
            await self._open_generation(name)
            try:
                await self._record(replace(state, building=name, building_fingerprint=fingerprint))
            except BaseException:
                await self._open.pop(name).store.close()
                raise
            log.info("generation begun", fingerprint=fingerprint)

    async def _switch(self, fingerprint: str) -> str:
        async with self._switching:
            if fingerprint and fingerprint == self.searched.fingerprint:
                return next(reversed([one.fingerprint for one in self._state.retired if one.fingerprint]), "")
            building, old = self._building(fingerprint), self.searched
            await building.index.follow(old.catalogue)
            state = self._state
            await self._record(
                GenerationState(
                    searched=building.name,
                    retired=(*state.retired, RetiredGeneration(old.name, old.fingerprint)),
                )
            )
            log.info("generation switched", fingerprint=fingerprint, previous=old.fingerprint)
            self._on_change()
            return old.fingerprint

    async def _drop(self, fingerprint: str) -> None:
        async with self._switching:
            state = self._state
            if fingerprint and fingerprint == self.searched.fingerprint:
                raise PreconditionFailed("the index of this embedding model is the one that is searched")
            if not state.building or fingerprint != state.building_fingerprint:
                return
            await self._record(
                GenerationState(
                    searched=state.searched, retired=(*state.retired, RetiredGeneration(state.building, ""))
                )
            )
            log.info("generation given up", fingerprint=fingerprint)

    async def _discard(self, name: str) -> None:
        async with self._switching:
            retired = tuple(one for one in self._state.retired if one.name != name)
            if retired == self._state.retired:
                return
            generation = self._open.pop(name, None)
            if generation is not None:
                await generation.store.close()
            await self._stores.delete(name)
            await self._record(replace(self._state, retired=retired))
            log.info("generation deleted")

    async def _record(self, state: GenerationState) -> None:
        """Writes the state and, once it is durable, shows it to queries."""
        try:
            await self._stores.record(state)
        except Unavailable:
            # Written or not? Only the disk knows.
            if await self._stores.state() != state:
                raise
        self._state = state


def _switched_meanwhile() -> Unavailable:
    return Unavailable(
        "the index was switched to another embedding model meanwhile: embed the document with that model and "
        "stage it again",
        reason="NOT_READY",
    )
