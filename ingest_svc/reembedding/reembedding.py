"""One run: every searched version into the index of the new model, then the switch."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import structlog
from sqlalchemy.orm import Session

from ingest_svc.indexed_version import IndexedVersion
from ingest_svc.jobs.ports import EmbeddingModel
from ingest_svc.reembedding.ports import GenerationIndex, Models
from ingest_svc.reembedding.restaging import Restaging
from ingest_svc.registry import versions
from ingest_svc.registry.database import Database
from radref.errors import PreconditionFailed, Unavailable

log = structlog.get_logger()

Progress = Callable[[int, int], Awaitable[None]]

# Documents that change while the last ones are staged make one more round; a curator cannot keep this up.
_MAX_ROUNDS = 50
_PAUSE_SECONDS = 0.2


class Reembedding:
    """Builds the index anew with another embedding model; queries are served from the old one meanwhile.

    The model that was asked for is on record in the index as the one being built, so a run needs no
    parameter and goes on where an earlier one stopped: what is staged is not embedded again, and of a
    document in the middle the vectors are kept in the registry.
    """

    def __init__(
        self, *, database: Database, models: Models, index: GenerationIndex, restaging: Restaging
    ) -> None:
        self._database = database
        self._models = models
        self._index = index
        self._restaging = restaging

    async def request(self, model: str, *, abandoned: bool) -> str:
        """Puts on record that the index is to be built with this model; a job then calls `run`.

        Args:
            model: its id; empty = the inference service's default.
            abandoned: no job works on what is being built; with another model it is given up.

        Returns:
            The model's fingerprint.

        Raises:
            InvalidInput: UNKNOWN_MODEL, it is not loaded.
            PreconditionFailed: INVALID_STATE; the index is empty or of this model already, or is being built
                with another one.
            RadrefError: inference or retrieval does not answer.
        """
        wanted = await self._models.named(model)
        _, building = await self._index.fingerprints()
        if abandoned and building not in ("", wanted.fingerprint):
            log.info("another index that was being built is given up", fingerprint=building)
            await self._index.drop(building)
        await self._index.begin(wanted.fingerprint)
        return wanted.fingerprint

    async def run(self, progress: Progress) -> None:
        """Stages what is missing, catches up with what changed meanwhile, switches. Can be repeated.

        Args:
            progress: told how many searched documents are staged, and of how many; what it raises ends the
                run and leaves the old index searched.

        Raises:
            PreconditionFailed: MODEL_FINGERPRINT_MISMATCH, the new model is not loaded; INVALID_STATE, the
                index searches a version whose text the registry does not have.
            Unavailable: NOT_READY, documents change faster than they are staged; or a neighbour does not
                answer.
            RadrefError: what the neighbours said.
        """
        searched, building = await self._index.fingerprints()
        if not building:
            log.info("nothing to re-embed: no index is being built")
            return
        target = await self._models.with_fingerprint(building)
        cutters = _likeliest_first(await self._models.loaded(), searched)
        for _ in range(_MAX_ROUNDS):
            wanted, missing = await self._compare(target)
            done = len(wanted) - len(missing)
            await progress(done, len(wanted))
            for place, one in enumerate(missing, start=1):
                await self._restaging.stage(one.document_id, one.version, target, cutters)
                await progress(done + place, len(wanted))
            if await self._switched(target):
                await self._count_anew()
                return
            # A document was switched between the comparison and now.
            await asyncio.sleep(_PAUSE_SECONDS)
        raise Unavailable(
            "Documents change faster than they are embedded with the new model; it goes on later.",
            reason="NOT_READY",
        )

    async def _compare(
        self, target: EmbeddingModel
    ) -> tuple[Sequence[IndexedVersion], Sequence[IndexedVersion]]:
        """The searched versions, and those of them that the new index does not hold whole."""
        wanted = [one for one in await self._index.versions("") if one.active]
        staged = {
            (one.document_id, one.version)
            for one in await self._index.versions(target.fingerprint)
            if one.whole
        }
        return wanted, [one for one in wanted if (one.document_id, one.version) not in staged]

    async def _count_anew(self) -> None:
        """Another tokenizer may cut other children; the registry knows how many there are."""
        searched = [one for one in await self._index.versions("") if one.active]

        def work(session: Session) -> None:
            for one in searched:
                versions.set_counts(
                    session, one.document_id, one.version, one.parents_staged, one.children_staged
                )

        await self._database.write(work)

    async def _switched(self, target: EmbeddingModel) -> bool:
        try:
            await self._index.switch(target.fingerprint)
        except PreconditionFailed as exc:
            if "missing" not in exc.metadata:
                raise
            log.info("not switched yet", missing=exc.metadata["missing"])
            return False
        log.info("index switched to another embedding model", fingerprint=target.fingerprint)
        return True


def _likeliest_first(models: Sequence[EmbeddingModel], searched: str) -> Sequence[EmbeddingModel]:
    return sorted(models, key=lambda model: model.fingerprint != searched)
