"""Records to write down, and a gateway that serves its real API over scripted neighbours."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import grpc
from sqlalchemy import event

from gateway.audit.database import AuditDatabase
from gateway.audit.feedback import FeedbackBox
from gateway.audit.model import AuditRecord
from gateway.audit.query_hash import QueryHash
from gateway.audit.trail import AuditTrail
from gateway.consult.consulting import Consulting
from gateway.desk import Desk
from gateway.model import Outcome, Source
from gateway.pipeline import Pipeline
from gateway.service import GatewayService
from radref.api.gateway.v1 import gateway_pb2_grpc
from radref.errors import NotFound
from radref.service.admission import Admission
from radref.service.interceptors import interceptors

NOW = datetime(2026, 3, 4, 5, 6, 7, 89, tzinfo=UTC)
KEY = b"k" * 32
IDS = tuple(f"{number:020x}" for number in range(9))
RECORD = AuditRecord(
    request_id="r1",
    at=NOW,
    actor="ann",
    method="Generate",
    query_hash="a" * 64,
    citation_ids=IDS[:2],
    uncited_ids=IDS[2:4],
    outcome=Outcome.ANSWERED,
    generator="extractive@0123",
    knowledge_base_version=7,
    duration_ms=12.5,
)


def numbered(number: int, **changes: object) -> AuditRecord:
    """A record of its own second; a higher number is newer."""
    changed = {"request_id": f"r{number}", "at": NOW + timedelta(seconds=number), **changes}
    return replace(RECORD, **changed)  # type: ignore[arg-type]


def sqlite_url(folder: Path) -> str:
    return f"sqlite:///{folder / 'audit.sqlite3'}"


def make_trail(
    database: AuditDatabase, *, required: bool = True, keep_query_text: bool = False
) -> AuditTrail:
    return AuditTrail(
        database,
        query_hash=QueryHash(KEY),
        required=required,
        keep_query_text=keep_query_text,
        clock=lambda: NOW,
    )


def make_read_only(database: AuditDatabase) -> None:
    """As if the file, or the disk, could no longer be written."""

    @event.listens_for(database.engine, "connect")
    def _configure(connection, _record) -> None:
        connection.execute("PRAGMA query_only = ON")

    database.engine.dispose()


@dataclass
class Failing:
    """A pipeline that ends otherwise than with an answer."""

    error: BaseException | None = None
    entered: asyncio.Event | None = None

    async def answer(self, question, filters, model=""):
        if self.entered:
            self.entered.set()
            await asyncio.Event().wait()
        assert self.error
        raise self.error


class NoPassages:
    async def passage(self, citation_id: str) -> Source:
        raise NotFound("no passage", reason="UNKNOWN_CITATION")


@asynccontextmanager
async def gateway_on(
    pipeline: Pipeline | Failing | None,
    database: AuditDatabase,
    trail: AuditTrail,
    consulting: Consulting | None = None,
) -> AsyncIterator[str]:
    """Serves on a free port; yields host:port."""
    server = grpc.aio.server(
        interceptors=interceptors(
            Admission(8, 8), require_deadline=True, long_lived=frozenset(), draining=asyncio.Event()
        )
    )
    servicer = GatewayService(
        Desk(pipeline, consulting, NoPassages(), trail, FeedbackBox(database))  # type: ignore[arg-type]
    )
    gateway_pb2_grpc.add_GatewayServiceServicer_to_server(servicer, server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        await server.stop(0)
        await trail.close()


def whole_store(folder: Path) -> bytes:
    """Every byte that SQLite has on disk."""
    return b"".join(path.read_bytes() for path in sorted(folder.glob("audit.sqlite3*")))


def log_lines(text: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]
