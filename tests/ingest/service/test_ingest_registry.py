"""The registry: schema, constraints, life cycle and queue."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest
from alembic import command
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from ingest_svc.document import Block, BlockKind, ParseReport
from ingest_svc.lifecycle import (
    HOLDING_STATES,
    LIVE_STATES,
    REOPENABLE_STATES,
    TRANSITIONS,
    DocumentState,
    JobStage,
    check_transition,
    retry_state,
)
from ingest_svc.metadata import DocumentMetadata
from ingest_svc.registry import audit, documents, jobs, passages, vectors, versions
from ingest_svc.registry.content_codec import blocks_to_json, content_from_json, report_to_json
from ingest_svc.registry.database import Database
from ingest_svc.registry.migrate import alembic_config, upgrade
from ingest_svc.registry.records import Failure, ParsedContent, Passage, Version
from radref.api.common.v1 import documents_pb2
from radref.api.ingest.v1 import ingest_pb2
from radref.errors import Internal, NotFound, PreconditionFailed, Unavailable

NOW = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
S = DocumentState


def add(session: Session, document_id: str = "doc", sha256: str = "a" * 64, now: datetime = NOW) -> Version:
    return versions.add_version(
        session,
        document_id=document_id,
        sha256=sha256,
        size_bytes=1,
        file_name="f.md",
        metadata=DocumentMetadata(topic="safety"),
        now=now,
    )


def move(session: Session, *states: DocumentState, document_id: str = "doc", version: int = 1) -> None:
    for state in states:
        versions.change_state(session, document_id, version, state, NOW)


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """An empty registry on each of both databases."""
    if request.param == "sqlite":
        url = f"sqlite:///{shutil.copy(request.getfixturevalue('migrated'), tmp_path)}"
    else:
        url = request.getfixturevalue("postgres_url")
    database = Database(url)
    yield database
    database.close()


def test_the_migrations_make_exactly_the_tables_of_the_models(database: Database):
    with database.engine.begin() as connection:
        command.downgrade(alembic_config(connection), "base")
    assert upgrade(database.engine) == upgrade(database.engine)
    with database.engine.begin() as connection:
        command.check(alembic_config(connection))


async def test_pragmas_are_set_on_every_connection(tmp_path: Path, migrated: Path):
    database = Database(f"sqlite:///{shutil.copy(migrated, tmp_path)}")

    def pragmas(session: Session) -> tuple[object, ...]:
        names = ("journal_mode", "foreign_keys", "synchronous", "busy_timeout")
        return tuple(session.execute(text(f"PRAGMA {name}")).scalar_one() for name in names)

    answers = await asyncio.gather(*(database.read(pragmas) for _ in range(8)), database.write(pragmas))
    assert set(answers) == {("wal", 1, 2, 10_000)}
    database.close()


async def test_a_failed_transaction_leaves_nothing(database: Database):
    def work(session: Session) -> None:
        add(session)
        raise RuntimeError

    with pytest.raises(RuntimeError):
        await database.write(work)
    assert await database.read(lambda session: documents.find_document(session, "doc")) is None


async def test_a_database_that_does_not_answer_is_unavailable(tmp_path: Path):
    database = Database(f"sqlite:///{tmp_path / 'missing' / 'r.sqlite3'}")
    with pytest.raises(Unavailable):
        await database.check()
    database.close()


async def test_a_lock_held_elsewhere_is_unavailable(tmp_path: Path, migrated: Path):
    url = f"sqlite:///{shutil.copy(migrated, tmp_path)}"
    other, database = Database(url), Database(url, busy_timeout_ms=10)
    # Beginning takes the write lock.
    with other.engine.begin(), pytest.raises(Unavailable, match="does not answer"):
        await database.write(add)
    other.close()
    database.close()


async def test_one_version_at_a_time_holds_the_same_bytes(database: Database):
    await database.write(add)
    with pytest.raises((IntegrityError, Internal)):
        await database.write(lambda session: add(session, "other"))

    def after_failure(session: Session) -> int:
        versions.change_state(session, "doc", 1, S.FAILED, NOW, failure=Failure("NO_TEXT", "m", False))
        return add(session, "other").version

    assert await database.write(after_failure) == 1


async def test_errors_of_the_database_never_hold_values(database: Database):
    def broken(session: Session) -> None:
        add(session)
        session.execute(text("INSERT INTO passages (citation_id) VALUES (:value)"), {"value": "secret text"})

    with pytest.raises(Internal) as caught:
        await database.write(broken)
    assert "secret" not in str(caught.value)
    assert "secret" not in str(caught.value.__cause__)


def test_enums_match_the_api():
    states = {name.removeprefix("DOCUMENT_STATE_") for name in documents_pb2.DocumentState.keys()}  # noqa: SIM118
    assert {state.name for state in DocumentState} == states - {"UNSPECIFIED"}
    stages = {name.removeprefix("JOB_STAGE_") for name in ingest_pb2.JobStage.keys()}  # noqa: SIM118
    assert {stage.name for stage in JobStage} == stages - {"UNSPECIFIED"}


def test_the_life_cycle_is_closed_and_ends_where_it_should():
    assert set(TRANSITIONS) == set(DocumentState)
    assert TRANSITIONS[S.REJECTED] == frozenset()
    assert {state for state in S if S.INDEXED in TRANSITIONS[state]} == {S.APPROVED}
    assert HOLDING_STATES < LIVE_STATES
    assert not LIVE_STATES & REOPENABLE_STATES
    assert set(S) == LIVE_STATES | REOPENABLE_STATES
    for state in S:
        assert retry_state(state) in TRANSITIONS[S.FAILED]
    assert retry_state(None) is S.RECEIVED


@given(st.sampled_from(list(S)), st.sampled_from(list(S)))
def test_a_change_is_allowed_or_refused_with_both_states(current: DocumentState, new: DocumentState):
    if new in TRANSITIONS[current]:
        check_transition(current, new, "doc", 1)
        return
    with pytest.raises(PreconditionFailed, match=f"is {current}; it cannot become {new}"):
        check_transition(current, new, "doc", 1)


async def test_the_searched_version_follows_the_states(database: Database):
    def work(session: Session) -> list[int]:
        seen = []
        add(session)
        for state in (S.PARSED, S.APPROVED, S.INDEXED, S.WITHDRAWN):
            move(session, state)
            seen.append(documents.get_document(session, "doc").active_version)
        return seen

    assert await database.write(work) == [0, 0, 1, 0]
    version = await database.read(lambda session: versions.get_version(session, "doc", 1))
    assert (version.ended_at, version.created_at) == (NOW, NOW)
    with pytest.raises(NotFound):
        await database.read(lambda session: versions.get_version(session, "doc", 2))
    with pytest.raises(PreconditionFailed):
        await database.write(lambda session: move(session, S.INDEXED))


async def test_a_retry_goes_back_to_where_it_failed(database: Database):
    def work(session: Session) -> DocumentState:
        add(session)
        move(session, S.PARSED, S.APPROVED, S.FAILED)
        return versions.reopen_failed(session, "doc", 1, NOW).state

    assert await database.write(work) is S.APPROVED


async def test_the_queue_gives_the_oldest_due_job(database: Database):
    def fill(session: Session) -> None:
        for number in range(3):
            name = f"doc{number}"
            add(session, name, str(number) * 64)
            time = NOW + timedelta(seconds=3 - number)
            jobs.add_job(session, job_id=f"job{number}", document_id=name, version=1, now=time)

    await database.write(fill)
    assert await database.read(lambda session: jobs.next_due(session, NOW)) == NOW + timedelta(seconds=1)
    assert await database.read(lambda session: jobs.list_due(session, NOW, 9)) == []
    late = NOW + timedelta(seconds=9)
    due = await database.read(lambda session: jobs.list_due(session, late, 2))
    assert [(run.job_id, run.run) for run in due] == [("job2", 1), ("job1", 1)]
    assert await database.read(lambda session: jobs.next_due(session, late)) is None
    assert await database.read(jobs.queue_figures) == (3, NOW + timedelta(seconds=1))


async def test_pages_of_documents_cover_all_once_in_order(database: Database):
    def fill(session: Session) -> None:
        for number in range(7):
            # Two documents a moment: the id decides among them.
            add(session, f"doc{number}", str(number) * 64, NOW + timedelta(microseconds=number // 2))

    await database.write(fill)
    seen, mark = [], None
    while True:
        page, mark, total = await database.read(
            lambda session, after=mark: documents.list_documents(
                session, states=(), topics=(), limit=3, after=after
            )
        )
        assert total == 7
        seen += page
        if mark is None:
            break
    assert len({item.document_id for item in seen}) == len(seen) == 7
    for left, right in pairwise(seen):
        assert (-left.updated_at.timestamp(), left.document_id) < (
            -right.updated_at.timestamp(),
            right.document_id,
        )


async def test_vectors_survive_as_32_bit_floats(database: Database):
    def work(session: Session) -> None:
        add(session)
        vectors.store_vectors(session, "doc", "f1", {vectors.text_key("a"): (0.5, -0.25)})
        vectors.store_vectors(session, "doc", "f1", {vectors.text_key("a"): (0.5, 0.25)})
        vectors.store_vectors(session, "doc", "f2", {vectors.text_key("a"): (1.0,)})

    await database.write(work)
    loaded = await database.read(lambda session: vectors.load_vectors(session, "doc", "f1"))
    assert loaded == {vectors.text_key("a"): (0.5, 0.25)}
    await database.write(lambda session: vectors.drop_vectors(session, "doc"))
    assert await database.read(lambda session: vectors.load_vectors(session, "doc", "f2")) == {}


async def test_passages_are_replaced_as_a_whole(database: Database):
    def passage(ordinal: int, body: str) -> Passage:
        return Passage(f"{body:0>20}"[:20], "doc", 1, ordinal, body, ("A", "Б"), (1, 2) if ordinal else None)

    def work(session: Session) -> None:
        add(session)
        passages.replace_passages(session, "doc", 1, [passage(0, "a"), passage(1, "b")])
        passages.replace_passages(session, "doc", 1, [passage(0, "a"), passage(1, "c")])

    await database.write(work)
    assert await database.read(lambda session: passages.find_passage(session, f"{'b':0>20}")) is None
    found = await database.read(lambda session: passages.find_passage(session, f"{'c':0>20}"))
    assert found == passage(1, "c")


async def test_the_audit_trail_comes_newest_first(database: Database):
    def work(session: Session) -> None:
        for number in range(5):
            audit.add_event(session, at=NOW, actor="local", action=f"a{number}", document_id="d", version=1)
        audit.add_event(session, at=NOW, actor="local", action="other", document_id="e", version=1)

    await database.write(work)
    first, mark = await database.read(
        lambda session: audit.list_events(session, document_id="d", limit=3, before=None)
    )
    second, end = await database.read(
        lambda session: audit.list_events(session, document_id="d", limit=3, before=mark)
    )
    assert [event.action for event in first + second] == ["a4", "a3", "a2", "a1", "a0"]
    assert end is None


BLOCKS = st.builds(
    Block,
    st.sampled_from(list(BlockKind)),
    st.text(max_size=20),
    st.integers(0, 6),
    st.none() | st.tuples(st.integers(1, 5), st.integers(5, 9)),
)


@given(st.lists(BLOCKS, max_size=5), st.text(max_size=5), st.lists(st.text(max_size=5), max_size=3))
def test_parsed_content_survives_the_round_trip(blocks: list[Block], title: str, warnings: list[str]):
    content = ParsedContent(
        tuple(blocks), title, ParseReport(format="pdf", pages=3, warnings=tuple(warnings))
    )
    stored = {**report_to_json(content.report), "from a newer release": 1}
    assert content_from_json(title, blocks_to_json(content.blocks), stored) == content
