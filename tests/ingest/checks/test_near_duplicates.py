"""Near-duplicates: what counts as the same text, what does not, and which documents are compared."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy.orm import Session

from ingest_svc.lifecycle import DocumentState
from ingest_svc.metadata import DocumentMetadata
from ingest_svc.near_duplicates import Twin, record_twins, signature, twins_warning
from ingest_svc.registry import versions
from ingest_svc.registry.database import Database
from ingest_svc.registry.migrate import upgrade
from ingest_svc.registry.models import VersionRow

UPLOADS = itertools.count()
NOW = datetime(2026, 11, 30, tzinfo=UTC)
TEXT = " ".join(f"Предел дозы для группы {index} составляет {index * 3} мЗв в год." for index in range(60))


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    made = Database(f"sqlite:///{tmp_path / 'registry.sqlite3'}")
    upgrade(made.engine)
    yield made
    made.close()


def add(
    session: Session, document_id: str, text: str, state: DocumentState = DocumentState.INDEXED
) -> list[str]:
    version = versions.add_version(
        session,
        document_id=document_id,
        sha256=hashlib.sha256(f"{document_id} {next(UPLOADS)}".encode()).hexdigest(),
        size_bytes=1,
        file_name="a.txt",
        metadata=DocumentMetadata(topic="safety"),
        now=NOW,
    ).version
    session.flush()
    twins = record_twins(session, document_id, version, signature(text))
    session.get_one(VersionRow, (document_id, version)).state = state.value
    session.flush()
    return [twin.document_id for twin in twins]


async def test_the_same_text_in_another_layout_is_a_twin(database: Database) -> None:
    def work(session: Session) -> None:
        assert add(session, "docx", TEXT) == []
        assert add(session, "pdf", "\n".join(TEXT.upper().replace(".", " .").split(" "))) == ["docx"]
        row = session.get_one(VersionRow, ("pdf", 1))
        assert row.near_duplicates == [{"document_id": "docx", "version": 1, "similarity": 1.0}]

    await database.write(work)


async def test_a_slightly_edited_copy_is_a_twin_and_another_edition_is_not(database: Database) -> None:
    def work(session: Session) -> None:
        add(session, "one", TEXT)
        assert add(session, "edited", TEXT.replace("группы 7 ", "группы семь ")) == ["one"]
        other = TEXT.replace("составляет", "не превышает")
        assert add(session, "other", other) == []

    await database.write(work)


@pytest.mark.parametrize(
    "state", [DocumentState.WITHDRAWN, DocumentState.REJECTED, DocumentState.FAILED], ids=str
)
async def test_what_is_gone_is_no_twin(database: Database, state: DocumentState) -> None:
    def work(session: Session) -> None:
        add(session, "gone", TEXT, state)
        assert add(session, "new", TEXT) == []

    await database.write(work)


async def test_a_version_of_the_same_document_is_no_twin(database: Database) -> None:
    def work(session: Session) -> None:
        add(session, "one", TEXT)
        assert add(session, "one", TEXT) == []
        assert add(session, "two", TEXT) == ["one"]

    await database.write(work)


async def test_texts_without_words_and_short_ones(database: Database) -> None:
    def work(session: Session) -> None:
        assert add(session, "empty", "— … —") == []
        assert add(session, "blank", "") == []
        assert add(session, "short", "Да") == []
        assert add(session, "same", "да!") == ["short"]

    await database.write(work)


def test_the_warning_names_the_twins() -> None:
    assert "nrb-99 (97%)" in twins_warning([Twin("nrb-99", 2, 0.97)])


def test_a_signature_does_not_depend_on_the_process() -> None:
    assert signature("a b c d") == signature("A, b. C d")
    assert len(signature("a")) == 1024
    # Stored signatures are compared with those of later releases.
    assert hashlib.sha256(signature("a b c d")).hexdigest()[:16] == "0e1683f569a519d6"
