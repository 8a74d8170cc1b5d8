"""Compares registry and index, and brings the index back to what the registry says."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Protocol

import structlog
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from ingest_svc.indexed_version import IndexedVersion
from ingest_svc.jobs.document_locks import DocumentLocks
from ingest_svc.jobs.ports import EmbeddingModel, Index
from ingest_svc.lifecycle import FINAL_STAGES
from ingest_svc.registry import audit
from ingest_svc.registry.database import Database
from ingest_svc.registry.models import DocumentRow, JobRow, PassageRow, VersionRow
from radref.errors import RadrefError
from radref.service.metrics import INDEX_DIVERGENCE, INDEX_VERIFIED

# Long enough for the neighbours to have started; the next comparison may be an hour away.
SOON_SECONDS = 60.0

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Expected:
    """A version that must be searched, by the registry; `passages`: parents whose text is kept."""

    document_id: str
    version: int
    parents: int
    children: int
    passages: int


class Remedy(StrEnum):
    """What mends a divergence."""

    RESTAGE = "restage"
    WITHDRAW = "withdraw"
    REEMBED = "reembed"


@dataclass(frozen=True, slots=True)
class Divergence:
    """A difference; document_id "" and version 0 = of the whole index."""

    document_id: str
    version: int
    message: str
    remedy: Remedy
    repaired: bool = False


@dataclass(frozen=True, slots=True)
class VerifyResult:
    """Mirrors radref.api.ingest.v1.VerifyIndexResponse."""

    divergences: Sequence[Divergence]
    documents: int
    children_expected: int
    children_found: int


class IndexContents(Protocol):
    """What the index holds. Every method raises Unavailable while it does not answer."""

    async def versions(self, fingerprint: str) -> Sequence[IndexedVersion]:
        """Every staged version of the index of this model; empty = of the searched one."""
        ...

    async def fingerprints(self) -> tuple[str, str]:
        """Models of the searched index and of the one being built; empty = none."""
        ...


class Stager(Protocol):
    """Brings a version's points back without parsing it."""

    async def restage(self, document_id: str, version: int) -> None:
        """Cuts the kept text, embeds what is not kept, and stages the whole version."""
        ...


class Models(Protocol):
    """The inference service."""

    async def loaded(self) -> Sequence[EmbeddingModel]:
        """Every loaded embedding model."""
        ...


class Reconcile:
    """Verifies on request and on a schedule."""

    def __init__(
        self,
        *,
        database: Database,
        contents: IndexContents,
        index: Index,
        models: Models,
        stager: Stager,
        locks: DocumentLocks,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """
        Args:
            now: the clock, UTC.
        """
        self._database = database
        self._contents = contents
        self._index = index
        self._models = models
        self._stager = stager
        self._locks = locks
        self._now = now

    async def verify(self, repair: bool, actor: str = audit.SYSTEM_ACTOR, /) -> VerifyResult:
        """Every difference between registry and index; documents with unfinished jobs are left out.

        Args:
            repair: mend what can be mended. An index of a model that is no longer served is only named.
            actor: for the audit trail.

        Raises:
            Unavailable: the registry, the retrieval or the inference service does not answer.
        """
        divergences, expected, found = await self._look()
        if divergences:
            # A switch between the two looks at registry and index is no divergence: it must be seen twice.
            again, expected, found = await self._look()
            divergences = [each for each in divergences if each in again]
        if repair:
            divergences = [await self._repair(each, actor) for each in divergences]
        INDEX_DIVERGENCE.set(sum(not each.repaired for each in divergences))
        INDEX_VERIFIED.set(self._now().timestamp())
        return VerifyResult(
            divergences,
            documents=len(expected),
            children_expected=sum(each.children for each in expected.values()),
            children_found=sum(each.children_stored for each in found if each.active),
        )

    async def _look(
        self,
    ) -> tuple[list[Divergence], Mapping[str, Expected], Sequence[IndexedVersion]]:
        served = [model.fingerprint for model in await self._models.loaded()]
        fingerprint, _ = await self._contents.fingerprints()
        found = await self._contents.versions("")
        expected, busy = await self._database.read(_registry_view)
        divergences = compare(expected, found, fingerprint=fingerprint, served=served)
        return [each for each in divergences if each.document_id not in busy], expected, found

    async def keep_verifying(self, interval: float, *, repair: bool) -> None:
        """Verifies soon after the start and every `interval` seconds until cancelled."""
        # No figure yet is another thing than no difference.
        INDEX_DIVERGENCE.set(math.nan)
        soon = min(interval, SOON_SECONDS)
        pause = soon
        while True:
            await asyncio.sleep(pause)
            try:
                result = await self.verify(repair)
            except RadrefError as exc:
                log.warning("index not verified", reason=exc.reason)
                pause = soon
                continue
            pause = interval
            log.info(
                "index verified",
                documents=result.documents,
                divergences=len(result.divergences),
                repaired=sum(each.repaired for each in result.divergences),
            )

    async def _repair(self, divergence: Divergence, actor: str) -> Divergence:
        document_id = divergence.document_id
        if divergence.remedy is Remedy.REEMBED:
            return divergence
        try:
            async with self._locks.of(document_id):
                # A curator or a job may have been faster: what the registry says now counts.
                active = await self._database.read(lambda session: _active_version(session, document_id))
                if active == 0:
                    await self._index.withdraw(document_id)
                else:
                    await self._stager.restage(document_id, active)
                    await self._index.activate(document_id, active)
                await self._database.write(
                    lambda session: audit.add_event(
                        session,
                        at=self._now(),
                        actor=actor,
                        action="repaired",
                        document_id=document_id,
                        version=active,
                        reason=divergence.message,
                    )
                )
        except RadrefError as exc:
            log.warning("divergence not repaired", document_id=document_id, reason=exc.reason)
            return divergence
        return replace(divergence, repaired=True)


def compare(
    expected: Mapping[str, Expected],
    found: Sequence[IndexedVersion],
    *,
    fingerprint: str,
    served: Sequence[str],
) -> list[Divergence]:
    """Every difference, by document.

    Args:
        expected: what must be searched, by document id.
        found: what the index holds; versions that are not active may wait there for their turn.
        fingerprint: model of the index; "" = it is empty.
        served: models that the inference service serves.
    """
    divergences = []
    if fingerprint and fingerprint not in served:
        message = "the index was built with a model that the inference service does not serve: run reembed"
        divergences.append(Divergence("", 0, message, Remedy.REEMBED))
    active = {each.document_id: each for each in found if each.active}
    for document_id in sorted(expected.keys() | active.keys()):
        wanted, indexed = expected.get(document_id), active.get(document_id)
        if wanted is None and indexed is not None:
            message = "is searched, but the registry says it must not be"
            divergences.append(Divergence(document_id, indexed.version, message, Remedy.WITHDRAW))
        elif wanted is not None and (problem := _problem(wanted, indexed)):
            divergences.append(Divergence(document_id, wanted.version, problem, Remedy.RESTAGE))
    return divergences


def _problem(wanted: Expected, indexed: IndexedVersion | None) -> str:
    if indexed is None:
        return "is not searched, but the registry says it must be"
    if indexed.version != wanted.version:
        return f"version {indexed.version} is searched in its place"
    # More: a version that was cut again keeps what was cited before.
    if wanted.passages < wanted.parents:
        return f"{wanted.passages} of {wanted.parents} passages are kept for citations"
    if (indexed.parents_staged, indexed.children_staged) != (wanted.parents, wanted.children):
        return (
            f"the index was given {indexed.parents_staged} parents and {indexed.children_staged} children, "
            f"the registry knows {wanted.parents} and {wanted.children}"
        )
    if not indexed.whole:
        return (
            f"the index holds {indexed.parents_stored} of {indexed.parents_staged} parents and "
            f"{indexed.children_stored} of {indexed.children_staged} children"
        )
    return ""


def _registry_view(session: Session) -> tuple[dict[str, Expected], frozenset[str]]:
    kept = (
        select(PassageRow.document_id, PassageRow.version, func.count().label("passages"))
        .group_by(PassageRow.document_id, PassageRow.version)
        .subquery()
    )
    rows = session.execute(
        select(
            VersionRow.document_id,
            VersionRow.version,
            VersionRow.parents,
            VersionRow.children,
            kept.c.passages,
        )
        .join(
            DocumentRow,
            (DocumentRow.document_id == VersionRow.document_id)
            & (DocumentRow.active_version == VersionRow.version),
        )
        .outerjoin(
            kept, (kept.c.document_id == VersionRow.document_id) & (kept.c.version == VersionRow.version)
        )
    )
    expected = {row[0]: Expected(row[0], row[1], row[2], row[3], row[4] or 0) for row in rows}
    busy = session.scalars(
        select(JobRow.document_id).where(JobRow.stage.not_in([stage.value for stage in FINAL_STAGES]))
    )
    return expected, frozenset(filter(None, busy))


def _active_version(session: Session, document_id: str) -> int:
    row = session.get(DocumentRow, document_id)
    return row.active_version if row else 0
