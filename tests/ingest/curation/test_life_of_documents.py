"""Random lives of documents: whatever curators and jobs do, in any order, the registry stays right."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test
from sqlalchemy import select
from sqlalchemy.orm import Session

from ingest_svc.jobs.events import JobEvents
from ingest_svc.lifecycle import HOLDING_STATES, IN_PROGRESS_STATES, DocumentState
from ingest_svc.registry import jobs
from ingest_svc.registry.database import Database
from ingest_svc.registry.models import AuditEventRow, DocumentRow, PassageRow, VersionRow
from ingest_svc.retry import retry_job
from radref.errors import InvalidInput, NotFound, PreconditionFailed
from tests.ingest.curation.desk import Desk

S = DocumentState
DOCUMENTS = st.sampled_from(["law", "guide"])
STEPS = (
    *("work",) * 5,
    *("review", "replace") * 3,
    *("submit", "roll back") * 2,
    "withdraw",
    "retry",
)
TEXTS = st.sampled_from(["one", "two", "three"])
# What the trail must say of a version that came into a state.
ACTIONS = {
    S.RECEIVED: {"submitted", "retried"},
    S.PARSED: {"parsed", "retried"},
    S.APPROVED: {"approved", "rolled-back", "retried"},
    S.REJECTED: {"rejected"},
    S.INDEXED: {"indexed"},
    S.SUPERSEDED: {"superseded"},
    S.WITHDRAWN: {"withdrawn"},
    S.FAILED: {"failed"},
}


def machine_of(empty_registry: Path) -> type[RuleBasedStateMachine]:
    class Life(RuleBasedStateMachine):
        def __init__(self) -> None:
            super().__init__()
            self.folder = Path(tempfile.mkdtemp(prefix="radref-life-"))
            self.database = Database(f"sqlite:///{shutil.copy(empty_registry, self.folder)}")
            self.runner = asyncio.Runner()
            self.desk = Desk(self.database, self.folder / "blobs")
            self.seen: dict[tuple[str, int], DocumentState] = {}
            self.passages: set[str] = set()
            self.events = 0

        def teardown(self) -> None:
            self.runner.close()
            self.database.close()
            shutil.rmtree(self.folder)

        @initialize()
        def begin(self) -> None:
            """A superseded and a searched version, so that short lives have something to lose."""
            for version, text in enumerate(("one", "two"), 1):
                first = version == 1
                for ask in (
                    self.desk.submit(text, "law") if first else self.desk.replace("law", text),
                    self.desk.parsed("law", version),
                    self.desk.approve("law", version),
                    self.desk.indexed("law", version),
                ):
                    self.runner.run(ask)
                    self.the_registry_is_right()

        def attempt(self, ask: Callable[[], Any]) -> None:
            """A refusal is an answer; a defect is not."""
            try:
                self.runner.run(ask())
            except (PreconditionFailed, NotFound, InvalidInput):
                return

        def pick(self, document_id: str, number: int, *wanted: DocumentState) -> int:
            """Mostly a version for which a step makes sense, sometimes any."""
            fit = [
                version
                for (owner, version), state in sorted(self.seen.items())
                if owner == document_id and state in wanted
            ]
            return fit[number % len(fit)] if fit and number % 5 else 1 + number % 4

        # One rule and not one a step: hypothesis leaves rules out of whole runs, and then no life gets far.
        @rule(what=st.sampled_from(STEPS), document_id=DOCUMENTS, text=TEXTS, number=st.integers(0, 99))
        def step(self, what: str, document_id: str, text: str, number: int) -> None:
            desk = self.desk
            match what:
                case "submit":
                    self.attempt(lambda: desk.submit(text, document_id))
                case "replace":
                    self.attempt(lambda: desk.replace(document_id, text))
                case "review":
                    version = self.pick(document_id, number, S.PARSED)
                    decide = desk.approve if number % 3 else desk.reject
                    self.attempt(lambda: decide(document_id, version))
                case "roll back":
                    version = self.pick(document_id, number, S.SUPERSEDED, S.WITHDRAWN)
                    self.attempt(lambda: desk.roll_back(document_id, version))
                case "withdraw":
                    self.attempt(lambda: desk.withdraw(document_id))
                case "retry":
                    version = self.pick(document_id, number, S.FAILED)
                    self.attempt(lambda: self.retry(document_id, version))
                case "work":
                    self.runner.run(self.work(fails=number % 6 == 0))

        async def work(self, *, fails: bool) -> None:
            """Every job goes a step on, or fails."""
            for (document_id, version), state in list(self.seen.items()):
                if state not in {S.RECEIVED, S.APPROVED}:
                    continue
                if fails:
                    await self.desk.failed(document_id, version)
                elif state is S.RECEIVED:
                    await self.desk.parsed(document_id, version)
                else:
                    await self.desk.indexed(document_id, version)

        async def retry(self, document_id: str, version: int) -> None:
            job = await self.database.read(lambda session: jobs.newest_job(session, document_id, version))
            if job is not None:
                await retry_job(self.database, JobEvents(), lambda: None, job.id)

        @invariant()
        def the_registry_is_right(self) -> None:
            self.runner.run(self.database.read(self.check))

        def check(self, session: Session) -> None:
            rows = {(row.document_id, row.version): row for row in session.scalars(select(VersionRow))}
            states = {key: S(row.state) for key, row in rows.items()}
            assert self.seen.keys() <= states.keys(), "a version got lost"
            for document in session.scalars(select(DocumentRow)):
                name = document.document_id
                own = {number: state for (owner, number), state in states.items() if owner == name}
                assert sorted(own) == list(range(1, document.newest_version + 1))
                indexed = [number for number, state in own.items() if state is S.INDEXED]
                assert indexed == ([document.active_version] if document.active_version else [])
                assert sum(state in IN_PROGRESS_STATES for state in own.values()) <= 1
                assert self.desk.index.active.get(name, 0) == document.active_version
            for key, row in rows.items():
                assert row.held_sha256 == (row.sha256 if states[key] in HOLDING_STATES else None)
                if states[key] in {S.SUPERSEDED, S.WITHDRAWN}:
                    assert row.ended_at is not None
                if states[key] in {S.INDEXED, S.RECEIVED, S.PARSED}:
                    assert row.ended_at is None
            held = [row.held_sha256 for row in rows.values() if row.held_sha256]
            assert len(held) == len(set(held))
            events = session.scalars(
                select(AuditEventRow).order_by(AuditEventRow.id).offset(self.events)
            ).all()
            for key, state in states.items():
                if self.seen.get(key) is not state:
                    told = {event.action for event in events if (event.document_id, event.version) == key}
                    assert told & ACTIONS[state], (key, state, told)
            assert all(event.actor in {"ann", "rita", "radref", "local"} for event in events)
            cited = set(session.scalars(select(PassageRow.citation_id)))
            assert self.passages <= cited, "a citation got lost"
            self.seen, self.passages, self.events = states, cited, self.events + len(events)

    return Life


def test_random_lives(empty_registry: Path):
    run_state_machine_as_test(
        machine_of(empty_registry),
        settings=settings(
            max_examples=10,
            stateful_step_count=40,
            deadline=None,
            derandomize=True,
            suppress_health_check=list(HealthCheck),
        ),
    )
