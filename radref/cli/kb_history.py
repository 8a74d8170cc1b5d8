"""`radref kb history` and `audit`: what happened, when, by whom and why."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Annotated, TypeVar

import typer
from rich.table import Table
from rich.text import Text

from radref.api.ingest.v1 import ingest_pb2
from radref.cli.kb_show import DocumentId
from radref.cli.names import decision_name, failure_text, moment, state_name
from radref.cli.output import out, print_json_lists, show_table
from radref.cli.questions import AsJson, DataDir, client_for, run

T = TypeVar("T")
Limit = Annotated[int, typer.Option("--limit", min=1, help="Newest events shown.")]


def history(
    document_id: DocumentId, limit: Limit = 100, json: AsJson = False, data_dir: DataDir = None
) -> None:
    """Show the versions of a document with their states, dates and people, then its audit events."""

    async def work() -> tuple[Sequence[ingest_pb2.DocumentSummary], list[ingest_pb2.AuditEvent]]:
        async with client_for(data_dir) as client:
            versions = await client.kb.list_versions(document_id)
            return versions, await _first(client.kb.list_audit_events(document_id=document_id), limit)

    versions, events = run(work())
    if json:
        print_json_lists({"versions": versions, "events": events})
        return
    table = Table(title=f"Versions of {document_id}")
    for column in ("version", "state", "uploaded by", "changed (UTC)", "ended (UTC)", "file", "notes"):
        table.add_column(column, overflow="fold")
    for version in versions:
        state = state_name(version.state)
        table.add_row(
            str(version.version),
            Text(f"{state}, searched") if version.version == version.active_version else Text(state),
            Text(version.submitted_by),
            moment(version.updated_at),
            moment(version.ended_at),
            Text(version.file_name),
            Text("; ".join(_notes(version))),
        )
    show_table(out, table)
    _show_events(events, limit)


def audit(
    document_id: Annotated[str, typer.Argument(metavar="ID", help="Only this document; default: all.")] = "",
    limit: Limit = 100,
    json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """Show who changed what, when and why, newest first."""

    async def work() -> list[ingest_pb2.AuditEvent]:
        async with client_for(data_dir) as client:
            return await _first(client.kb.list_audit_events(document_id=document_id), limit)

    events = run(work())
    if json:
        print_json_lists({"events": events})
    else:
        _show_events(events, limit)


async def _first(items: AsyncIterator[T], count: int) -> list[T]:
    taken: list[T] = []
    async for item in items:
        taken.append(item)
        if len(taken) == count:
            break
    return taken


def _notes(version: ingest_pb2.DocumentSummary) -> list[str]:
    notes = [f"{decision_name(review.decision)} by {review.reviewer}" for review in version.reviews]
    if version.HasField("failure"):
        notes.append(failure_text(version.failure))
    return notes


def _show_events(events: Sequence[ingest_pb2.AuditEvent], limit: int) -> None:
    table = Table(title="Audit events, newest first")
    for column in ("at (UTC)", "who", "what", "document", "version", "why"):
        table.add_column(column, overflow="fold")
    for event in events:
        table.add_row(
            moment(event.at),
            Text(event.actor),
            Text(event.action),
            Text(event.document_id),
            str(event.version or ""),
            Text(event.reason),
        )
    show_table(out, table)
    if len(events) == limit:
        out.print(f"There may be more: --limit {10 * limit}")
