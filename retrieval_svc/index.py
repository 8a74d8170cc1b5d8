"""Writing to the index: a version is staged completely, then switched by one record."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import numpy as np
import structlog

from radref.errors import NotFound, PreconditionFailed
from retrieval_svc.bm25 import SparseVector
from retrieval_svc.catalogue import Catalogue
from retrieval_svc.indexed_text import IndexedText
from retrieval_svc.model import (
    Child,
    DocumentRecord,
    IndexedChild,
    IndexedParent,
    IndexIdentity,
    Parent,
    ParentKey,
    StageRecord,
)
from retrieval_svc.shielded import Shielded
from retrieval_svc.staging import (
    Batch,
    NewParent,
    StageChecker,
    StageHeader,
    check_document_id,
    check_header,
    check_version,
)
from retrieval_svc.statistics import StageStatistics, StageSums
from retrieval_svc.store.protocol import PointCounts, StoreCounts, VectorStore

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class StageCounts:
    """What was stored."""

    parents: int
    children: int


@dataclass(frozen=True, slots=True)
class ListedVersion:
    """A staged version, whether it is the one that is searched, and what the store really holds of it."""

    record: StageRecord
    active: bool
    stored: PointCounts


class Index:
    """Stages, activates and withdraws. `load` comes first.

    Args:
        text: encodes children and parents for BM25.
        on_change: called after every activation, withdrawal and `load`.
        now: the clock, UTC.
    """

    def __init__(
        self,
        *,
        store: VectorStore,
        catalogue: Catalogue,
        text: IndexedText,
        on_change: Callable[[], None] = lambda: None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._store = store
        self._catalogue = catalogue
        self._text = text
        self._on_change = on_change
        self._now = now
        self._switching = asyncio.Lock()
        self._staging: set[str] = set()
        self._shielded = Shielded()

    @property
    def sparse_fingerprint(self) -> str:
        """Identity of the BM25 weights this index writes."""
        return self._text.fingerprint

    @property
    def staging(self) -> frozenset[str]:
        """Ids of stagings under way; their points belong to no record yet."""
        return frozenset(self._staging)

    async def load(self) -> None:
        """Reads the catalogue from the store.

        A staging whose points are not all there (deleting them was interrupted) is forgotten.

        Raises:
            PreconditionFailed: the stored BM25 weights were made with other settings.
            Unavailable: the store failed.
        """
        identity = self._store.identity
        if identity is not None and identity.sparse_fingerprint != self.sparse_fingerprint:
            raise PreconditionFailed(
                "the index was built with other BM25 settings or another text analysis; restore the "
                "settings, or move the index away, start again and run 'radref kb verify --repair'",
                reason="MODEL_FINGERPRINT_MISMATCH",
            )
        stages, documents = await self._store.catalogue()
        stored = await self._store.stored_stages()
        active = [record.stage for record in documents if record.stage]
        incomplete = {
            record.stage
            for record in stages
            if stored.get(record.stage) != PointCounts(record.parents, record.children)
        }
        for record in documents:
            if record.stage in incomplete:
                log.error("searched document lacks points: stage it again", document_id=record.document_id)
        forgotten = incomplete - set(active)
        statistics = await self._store.statistics(active)
        kept = (record for record in stages if record.stage not in forgotten)
        self._catalogue.load(kept, documents, statistics)
        if forgotten:
            await self._store.delete_stages(sorted(forgotten))
        self._on_change()

    async def forget(self, stages: Sequence[str]) -> None:
        """Drops the records of stagings that are not searched; `Maintenance` deletes their points later."""
        await self._shielded(self._forget(stages))

    async def stage(self, header: StageHeader, batches: AsyncIterator[Batch]) -> StageCounts:
        """Stores a version without making it visible; staging it again replaces what is not searched.

        Raises:
            InvalidInput: header or batches are not as index.proto says; nothing becomes visible.
            PreconditionFailed: the vectors come from another model than the index's
                (MODEL_FINGERPRINT_MISMATCH).
            Unavailable: the store failed.
        """
        check_header(header, self._store.topics)
        identity = self._store.identity
        if identity is not None:
            await self._store.initialise(self._identity(header, identity.dimension))
        checker = StageChecker(header, dimension=identity.dimension if identity else 0)
        record = StageRecord(
            stage=uuid.uuid4().hex,
            document_id=header.document_id,
            version=header.version,
            metadata=header.metadata,
            parents=header.parents,
            children=header.children,
            sequence=0,
        )
        self._staging.add(record.stage)
        try:
            sums = StageSums()
            waiting: list[NewParent] = []
            async for batch in batches:
                checker.accept(batch)
                if not checker.dimension:
                    # Nothing can be created before the first child says how long vectors are.
                    waiting += batch.parents
                    continue
                await self._store.initialise(self._identity(header, checker.dimension))
                await self._write(record, checker, Batch([*waiting, *batch.parents], batch.children), sums)
                waiting = []
            checker.finish()
            await self._store.flush(header.metadata.topic)
            await self._shielded(self._complete(record, sums.statistics()))
        finally:
            self._staging.discard(record.stage)
        return StageCounts(header.parents, header.children)

    async def activate(self, document_id: str, version: int) -> int:
        """Makes a staged version the one that is searched.

        Returns:
            The version that was searched before; 0 = none.

        Raises:
            InvalidInput: id or version out of range.
            NotFound: the document (UNKNOWN_DOCUMENT) or the version (UNKNOWN_VERSION) is not staged.
            Unavailable: the store failed; the old or the new version is searched, never a part.
        """
        check_document_id(document_id, "document_id")
        check_version(version, "version")
        return await self._shielded(self._activate(document_id, version))

    async def withdraw(self, document_id: str) -> int:
        """Takes a document out of search. Withdrawing it twice, or one that was never staged, is no error.

        Returns:
            The version that was searched before; 0 = none.

        Raises:
            InvalidInput: id out of range.
            Unavailable: the store failed.
        """
        check_document_id(document_id, "document_id")
        return await self._shielded(self._withdraw(document_id))

    async def follow(self, searched: Catalogue) -> None:
        """Makes this index, which is not searched yet, hold the same versions active as another one.

        Raises:
            PreconditionFailed: active versions of the other one are not staged here, or not whole
                (INVALID_STATE); `metadata["missing"]` says how many.
            Unavailable: the store failed. Calling it again starts over.
        """
        await self._shielded(self._follow(searched))

    async def versions(self) -> list[ListedVersion]:
        """Every staged version by document and version; of several stagings of one the searched or newest.

        Raises:
            Unavailable: the store failed.
        """
        before = {record.stage for record in self._catalogue.staged}
        stored = await self._store.stored_stages()
        active = self._catalogue.snapshot.stages
        chosen: dict[tuple[str, int], StageRecord] = {}
        for record in self._catalogue.staged:
            # One that was completed since is not counted in `stored`.
            if record.stage in before:
                key = record.document_id, record.version
                chosen[key] = max(
                    chosen.get(key, record), record, key=lambda one: (one.stage in active, one.sequence)
                )
        return [
            ListedVersion(record, record.stage in active, stored.get(record.stage, PointCounts(0, 0)))
            for _, record in sorted(chosen.items())
        ]

    async def counts(self) -> StoreCounts:
        """Points stored, all versions."""
        return await self._store.counts()

    def _identity(self, header: StageHeader, dimension: int) -> IndexIdentity:
        return IndexIdentity(header.embedder_fingerprint, dimension, self.sparse_fingerprint)

    async def _forget(self, stages: Sequence[str]) -> None:
        async with self._switching:
            dropped = [stage for stage in stages if stage not in self._catalogue.snapshot.stages]
            self._catalogue.drop_stages(dropped)
            if dropped:
                await self._store.delete_stages(dropped)

    async def _write(self, record: StageRecord, checker: StageChecker, batch: Batch, sums: StageSums) -> None:
        """Stores an accepted batch and counts it in."""
        title = record.metadata.title
        parent_vectors, child_vectors = await asyncio.to_thread(
            lambda: (
                self._text.parents(title, [(one.section_path, one.text) for one in batch.parents]),
                self._text.children(
                    title,
                    [
                        (one.section_path, checker.texts[one.citation_id][one.start : one.end])
                        for one in batch.children
                    ],
                ),
            )
        )
        parents = [
            IndexedParent(_stored(record.stage, parent, vector), checker.keys[parent.citation_id], vector)
            for parent, vector in zip(batch.parents, parent_vectors, strict=True)
        ]
        children = [
            IndexedChild(
                child=Child(
                    parent=ParentKey(record.stage, child.citation_id),
                    document_id=record.document_id,
                    ordinal=child.ordinal,
                    start=child.start,
                    end=child.end,
                    section_path=child.section_path,
                    parent_text=checker.keys[child.citation_id],
                ),
                dense=child.vector,
                sparse=vector,
            )
            for child, vector in zip(batch.children, child_vectors, strict=True)
        ]
        sums.parents += parent_vectors
        sums.children += child_vectors
        if batch.children:
            sums.add_vectors(np.asarray([child.vector for child in batch.children], dtype=np.float32))
        await self._store.add_parents(record, parents)
        await self._store.add_children(record.metadata.topic, record, children)

    async def _complete(self, record: StageRecord, statistics: StageStatistics) -> None:
        async with self._switching:
            record = replace(record, sequence=self._catalogue.next_sequence())
            await self._store.put_stage(record, statistics)
            self._catalogue.add_stage(record)

    async def _follow(self, searched: Catalogue) -> None:
        async with self._switching:
            stored = await self._store.stored_stages() if self._store.identity else {}
            active = searched.snapshot.active
            here: dict[str, str] = {}
            for document_id, other in active.items():
                record = self._catalogue.newest(document_id, other.version)
                if record and stored.get(record.stage) == PointCounts(record.parents, record.children):
                    here[document_id] = record.stage
            if missing := len(active) - len(here):
                raise PreconditionFailed(
                    f"{missing} of {len(active)} searched documents are not staged in the new index: "
                    "stage them, then switch",
                    metadata={"missing": str(missing)},
                )
            # Above every sequence of both indexes, so that the index version grows with the switch too.
            first = max(searched.next_sequence(), self._catalogue.next_sequence())
            known = sorted(searched.documents, key=lambda record: record.sequence)
            known += [one for one in self._catalogue.documents if searched.document(one.document_id) is None]
            if not known or self._store.identity is None:
                return
            now = self._now()
            await self._store.put_documents(
                [
                    DocumentRecord(record.document_id, here.get(record.document_id, ""), sequence, now)
                    for sequence, record in enumerate(known, start=first)
                ]
            )
            await self.load()

    async def _activate(self, document_id: str, version: int) -> int:
        async with self._switching:
            record = self._catalogue.newest(document_id, version)
            if record is None:
                if self._catalogue.knows(document_id):
                    raise NotFound(
                        f"version {version} is not staged; stage it first", reason="UNKNOWN_VERSION"
                    )
                raise NotFound("this document is not staged", reason="UNKNOWN_DOCUMENT")
            previous = self._active(document_id)
            if previous is not None and previous.stage == record.stage:
                return previous.version
            await self._switch(document_id, record.stage, previous)
            return previous.version if previous else 0

    async def _withdraw(self, document_id: str) -> int:
        async with self._switching:
            previous = self._active(document_id)
            if previous is None:
                return 0
            await self._switch(document_id, "", previous)
            return previous.version

    async def _switch(self, document_id: str, stage: str, previous: StageRecord | None) -> None:
        """Writes the document's record and, once it is durable, shows it to queries."""
        wanted = [name for name in (stage, previous.stage if previous else "") if name]
        statistics = await self._store.statistics(wanted)
        record = DocumentRecord(
            document_id=document_id,
            stage=stage,
            sequence=self._catalogue.next_sequence(),
            changed_at=self._now(),
        )
        try:
            await self._store.put_document(record)
        except Exception:
            # Written or not? Only the store knows; show what it holds.
            await self.load()
            raise
        self._catalogue.put_document(
            record,
            counted_in=statistics[stage] if stage else None,
            counted_out=statistics[previous.stage] if previous else None,
        )
        log.info(
            "document switched", document_id=document_id, index_version=record.sequence, withdrawn=not stage
        )
        self._on_change()

    def _active(self, document_id: str) -> StageRecord | None:
        return self._catalogue.snapshot.active.get(document_id)


def _stored(stage: str, parent: NewParent, vector: SparseVector) -> Parent:
    return Parent(
        key=ParentKey(stage, parent.citation_id),
        ordinal=parent.ordinal,
        text=parent.text,
        section_path=parent.section_path,
        pages=parent.pages,
        terms=np.array(sorted(vector.indices), dtype=np.uint32),
    )
