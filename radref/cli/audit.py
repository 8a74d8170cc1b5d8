"""`radref audit`: who asked when, what was cited, how it ended, and what users said."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, TypeVar

import typer
from rich.table import Table
from rich.text import Text

from radref.api.gateway.v1 import gateway_pb2
from radref.cli.feedback_csv import write_csv
from radref.cli.names import criterion_name, ending, moment, outcome_name
from radref.cli.output import out, print_json_lists, show_table
from radref.cli.questions import AsJson, DataDir, client_for, run
from radref.errors import InvalidInput

T = TypeVar("T")
MAX_PAGE_SIZE = 1000

Since = Annotated[
    datetime | None, typer.Option(formats=["%Y-%m-%d", "%Y-%m-%dT%H:%M"], help="From this time on, UTC.")
]
Until = Annotated[
    datetime | None, typer.Option(formats=["%Y-%m-%d", "%Y-%m-%dT%H:%M"], help="Before this time, UTC.")
]
Actor = Annotated[str, typer.Option(help="Only of this user.")]
Request = Annotated[str, typer.Option("--request", metavar="ID", help="Only this request.")]

app = typer.Typer(help="Who asked when, what was cited, and what users said.", no_args_is_help=True)


@app.callback()
def _group() -> None:
    """Who asked when, what was cited, and what users said."""


@app.command("list")
def list_requests(
    since: Since = None,
    until: Until = None,
    actor: Actor = "",
    citation: Annotated[str, typer.Option(metavar="ID", help="Only where this passage was cited.")] = "",
    request: Request = "",
    limit: Annotated[int, typer.Option(min=1, help="Newest requests shown.")] = 100,
    json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """Show requests, newest first."""

    async def work() -> list[gateway_pb2.AuditEntry]:
        async with client_for(data_dir) as client:
            found = client.query_audit(
                since=_utc(since),
                until=_utc(until),
                actor=actor,
                citation_id=citation,
                request_id=request,
                page_size=min(limit, MAX_PAGE_SIZE),
            )
            return await _first(found, limit)

    entries = run(work())
    if json:
        print_json_lists({"entries": entries})
        return
    if not entries:
        out.print("No request in the audit trail matches. Ask for all of them: radref audit list")
        return
    _show_requests(entries)
    if len(entries) == limit:
        out.print(f"There may be more: --limit {10 * limit}")
    if not request:
        out.print("One request with its passages: radref audit list --request ID --json")


@app.command()
def feedback(
    since: Since = None,
    until: Until = None,
    actor: Actor = "",
    request: Request = "",
    json: AsJson = False,
    csv: Annotated[
        Path | None, typer.Option("--csv", metavar="OUT", help="Write a CSV file; - = standard output.")
    ] = None,
    data_dir: DataDir = None,
) -> None:
    """Show or export all feedback, newest first."""
    if json and csv:
        raise InvalidInput("choose --json or --csv")

    async def work() -> list[gateway_pb2.FeedbackEntry]:
        async with client_for(data_dir) as client:
            found = client.list_feedback(
                since=_utc(since),
                until=_utc(until),
                actor=actor,
                request_id=request,
                page_size=MAX_PAGE_SIZE,
            )
            return [entry async for entry in found]

    entries = run(work())
    if json:
        print_json_lists({"entries": entries})
    elif csv:
        _write_csv(entries, csv)
    elif not entries:
        out.print("No feedback matches. Give some: radref feedback REQUEST_ID --correctness 5")
    else:
        _show_feedback(entries)
        out.print("Export it: radref audit feedback --csv feedback.csv")


async def _first(items: AsyncIterator[T], count: int) -> list[T]:
    taken: list[T] = []
    async for item in items:
        taken.append(item)
        if len(taken) == count:
            break
    return taken


def _utc(given: datetime | None) -> datetime | None:
    return given.replace(tzinfo=UTC) if given else None


def _show_requests(entries: Sequence[gateway_pb2.AuditEntry]) -> None:
    texts = any(entry.query_text for entry in entries)
    table = Table(title="Requests, newest first")
    columns = ("at (UTC)", "who", "what", "how it ended", "passages", "ms", "request", "query hash")
    for column in (*columns, *(["question"] if texts else [])):
        table.add_column(column, overflow="fold")
    for entry in entries:
        table.add_row(
            moment(entry.at),
            Text(entry.actor),
            Text(entry.method),
            ending(entry),
            str(len(entry.citation_ids)),
            f"{entry.milliseconds:.0f}",
            Text(entry.request_id),
            # Enough to see equal questions; the whole one is in --json.
            Text(entry.query_hash[:12]),
            *([Text(entry.query_text)] if texts else []),
        )
    show_table(out, table)


def _show_feedback(entries: Sequence[gateway_pb2.FeedbackEntry]) -> None:
    table = Table(title="Feedback, newest first")
    for column in ("at (UTC)", "who", "request", "how it ended", "marks", "passages", "comment"):
        table.add_column(column, overflow="fold")
    for entry in entries:
        table.add_row(
            moment(entry.at),
            Text(entry.actor),
            Text(entry.request_id),
            outcome_name(entry.outcome),
            Text(", ".join(f"{criterion_name(each.criterion)} {each.rating}" for each in entry.ratings)),
            Text(", ".join(f"{each.citation_id} {each.usefulness}" for each in entry.passages)),
            Text(entry.comment),
        )
    show_table(out, table)


def _write_csv(entries: Sequence[gateway_pb2.FeedbackEntry], path: Path) -> None:
    if str(path) == "-":
        write_csv(entries, sys.stdout)
        return
    try:
        # The mark at the beginning makes spreadsheets read UTF-8.
        with path.open("w", encoding="utf-8-sig", newline="") as file:
            write_csv(entries, file)
    except OSError as exc:
        raise InvalidInput(f"cannot write {path}: {exc.strerror}") from None
    out.print(Text(f"{len(entries)} verdicts written to {path}"))
