"""Reconcile: every kind of divergence is found, named and mended; what is in flux is left alone."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy.orm import Session

import ingest_svc.reconcile as reconcile_module
from ingest_svc.indexed_version import IndexedVersion
from ingest_svc.jobs.document_locks import DocumentLocks
from ingest_svc.jobs.ports import EmbeddingModel, StagedDocument
from ingest_svc.reconcile import (
    Expected,
    Reconcile,
    Remedy,
    compare,
)
from ingest_svc.registry import audit
from ingest_svc.registry.database import Database
from ingest_svc.registry.migrate import upgrade
from ingest_svc.registry.models import DocumentRow, JobRow, PassageRow, VersionRow
from radref.errors import Unavailable
from radref.service.metrics import INDEX_DIVERGENCE, INDEX_VERIFIED

NOW = datetime(2026, 11, 30, tzinfo=UTC)
GOOD = IndexedVersion("nrb", 2, True, 1, 3, 1, 3)
WANTED = Expected("nrb", 2, parents=1, children=3, passages=1)


@pytest.mark.parametrize(
    ("indexed", "says"),
    [
        (None, "is not searched"),
        (replace(GOOD, active=False), "is not searched"),
        (replace(GOOD, version=1), "version 1 is searched"),
        (replace(GOOD, children_staged=2, children_stored=2), "the registry knows 1 and 3"),
        (replace(GOOD, children_stored=1), "1 of 3 children"),
        (replace(GOOD, parents_stored=0), "0 of 1 parents"),
    ],
)
def test_what_must_be_searched_and_is_not_as_it_should(indexed: IndexedVersion | None, says: str) -> None:
    found = [indexed] if indexed else []
    (divergence,) = compare({"nrb": WANTED}, found, fingerprint="f", served=["f"])
    assert (divergence.document_id, divergence.version, divergence.remedy) == ("nrb", 2, Remedy.RESTAGE)
    assert says in divergence.message


def test_agreement_and_waiting_versions_are_no_divergence() -> None:
    waiting = replace(GOOD, version=3, active=False, children_stored=0)
    assert compare({"nrb": WANTED}, [waiting, GOOD], fingerprint="f", served=["g", "f"]) == []
    assert compare({}, [replace(waiting, version=1)], fingerprint="", served=[]) == []


def test_orphans_lost_passages_and_a_foreign_model() -> None:
    found = compare(
        {"nrb": replace(WANTED, passages=0)},
        [GOOD, replace(GOOD, document_id="gone")],
        fingerprint="old",
        served=["new"],
    )
    assert [(each.document_id, each.remedy) for each in found] == [
        ("", Remedy.REEMBED),
        ("gone", Remedy.WITHDRAW),
        ("nrb", Remedy.RESTAGE),
    ]


@dataclass
class MemoryIndex:
    """Index, stager and models in one; staging takes the counts of the registry."""

    held: dict[tuple[str, int], IndexedVersion] = field(default_factory=dict)
    restaged: list[tuple[str, int]] = field(default_factory=list)
    down: bool = False
    looks: int = 0

    async def versions(self, fingerprint: str) -> Sequence[IndexedVersion]:
        self.looks += 1
        if self.down:
            raise Unavailable("away")
        return list(self.held.values())

    async def fingerprints(self) -> tuple[str, str]:
        return "f", ""

    async def loaded(self) -> Sequence[EmbeddingModel]:
        return [EmbeddingModel("e5", "f", "t", 5)]

    async def stage(self, document: StagedDocument) -> None:
        raise NotImplementedError

    async def restage(self, document_id: str, version: int) -> None:
        self.restaged.append((document_id, version))
        self.held[document_id, version] = replace(GOOD, document_id=document_id, version=version)

    async def activate(self, document_id: str, version: int) -> int:
        for key, each in self.held.items():
            if each.document_id == document_id:
                self.held[key] = replace(each, active=key == (document_id, version))
        return 0

    async def withdraw(self, document_id: str) -> int:
        return await self.activate(document_id, 0)


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    made = Database(f"sqlite:///{tmp_path / 'registry.sqlite3'}")
    upgrade(made.engine)
    yield made
    made.close()


def reconcile(database: Database, index: MemoryIndex) -> Reconcile:
    return Reconcile(
        database=database,
        contents=index,
        index=index,
        models=index,
        stager=index,
        locks=DocumentLocks(),
        now=lambda: NOW,
    )


def put(session: Session, document_id: str, *, active: int, stage: str = "done") -> None:
    session.add(
        DocumentRow(
            document_id=document_id, newest_version=2, active_version=active, created_at=NOW, updated_at=NOW
        )
    )
    session.flush()
    session.add(
        VersionRow(
            document_id=document_id,
            version=2,
            sha256=document_id,
            size_bytes=1,
            file_name="a",
            state="indexed" if active else "withdrawn",
            title="",
            topic="safety",
            language="ru",
            source_category="",
            source="",
            licence="",
            year=0,
            authority="",
            supersedes=[],
            parents=1,
            children=3,
            created_at=NOW,
            updated_at=NOW,
        )
    )
    session.flush()
    session.add(
        PassageRow(
            citation_id=document_id.ljust(20, "0"),
            document_id=document_id,
            version=2,
            ordinal=0,
            text="a",
            section_path=[],
        )
    )
    session.add(
        JobRow(
            id=document_id,
            document_id=document_id,
            version=2,
            stage=stage,
            not_before=NOW,
            warnings=[],
            created_at=NOW,
            updated_at=NOW,
        )
    )


async def test_verify_names_and_repair_mends(database: Database) -> None:
    def work(session: Session) -> None:
        for document_id in ("lost", "stale", "fine"):
            put(session, document_id, active=2)
        put(session, "withdrawn", active=0)

    await database.write(work)
    index = MemoryIndex(
        {
            ("stale", 1): replace(GOOD, document_id="stale", version=1),
            ("fine", 2): replace(GOOD, document_id="fine"),
            ("withdrawn", 2): replace(GOOD, document_id="withdrawn"),
            ("unknown", 1): replace(GOOD, document_id="unknown", version=1),
        }
    )
    subject = reconcile(database, index)
    seen = await subject.verify(False)
    assert [each.document_id for each in seen.divergences] == ["lost", "stale", "unknown", "withdrawn"]
    assert not any(each.repaired for each in seen.divergences)
    assert not index.restaged
    assert (seen.documents, seen.children_expected, seen.children_found) == (3, 9, 12)

    mended = await subject.verify(True, "anna")
    assert all(each.repaired for each in mended.divergences)
    assert index.restaged == [("lost", 2), ("stale", 2)]
    after = await subject.verify(True)
    assert (after.divergences, after.children_expected, after.children_found) == ([], 9, 9)
    events, _ = await database.read(
        lambda session: audit.list_events(session, document_id="lost", limit=10, before=None)
    )
    assert [(event.actor, event.action, event.version) for event in events] == [("anna", "repaired", 2)]


async def test_a_document_with_an_unfinished_job_is_left_alone(database: Database) -> None:
    await database.write(lambda session: put(session, "busy", active=2, stage="activate"))
    assert (await reconcile(database, MemoryIndex()).verify(True)).divergences == []


async def test_a_switch_between_the_two_looks_is_no_divergence(database: Database) -> None:
    await database.write(lambda session: put(session, "nrb", active=2))

    class Switching(MemoryIndex):
        async def versions(self, fingerprint: str) -> Sequence[IndexedVersion]:
            found = await super().versions(fingerprint)
            self.held["nrb", 2] = GOOD
            return found

    index = Switching()
    assert (await reconcile(database, index).verify(True)).divergences == []
    assert not index.restaged


async def test_one_repair_that_fails_does_not_stop_the_others(database: Database) -> None:
    def work(session: Session) -> None:
        put(session, "a", active=2)
        put(session, "b", active=2)

    await database.write(work)

    class Stubborn(MemoryIndex):
        async def restage(self, document_id: str, version: int) -> None:
            if document_id == "a":
                raise Unavailable("away")
            await super().restage(document_id, version)

    result = await reconcile(database, Stubborn()).verify(True)
    assert [(each.document_id, each.repaired) for each in result.divergences] == [("a", False), ("b", True)]


async def test_the_schedule_begins_soon_and_counts_what_is_not_mended(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Away at first, then asked again soon, not after the interval of an hour."""
    monkeypatch.setattr(reconcile_module, "SOON_SECONDS", 0.01)
    await database.write(lambda session: put(session, "nrb", active=2))
    index = MemoryIndex(down=True)
    INDEX_VERIFIED.set(0)
    verifying = asyncio.create_task(reconcile(database, index).keep_verifying(3600, repair=False))
    try:
        async with asyncio.timeout(30):
            while not math.isnan(INDEX_DIVERGENCE._value.get()):
                await asyncio.sleep(0.01)
            index.down = False
            while INDEX_VERIFIED._value.get() == 0:
                await asyncio.sleep(0.01)
    finally:
        verifying.cancel()
    assert INDEX_DIVERGENCE._value.get() == 1
    assert INDEX_VERIFIED._value.get() == NOW.timestamp()


async def test_an_index_that_does_not_answer_is_no_divergence(database: Database) -> None:
    with pytest.raises(Unavailable):
        await reconcile(database, MemoryIndex(down=True)).verify(True)
