"""`radref kb list`: what the knowledge base holds."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from radref.api.common.v1 import documents_pb2
from radref.api.ingest.v1 import ingest_pb2
from radref.cli.names import STATES, failure_text, moment, state_name
from radref.cli.output import out, print_json, show_table
from radref.cli.questions import AsJson, DataDir, Topics, client_for, run
from radref.errors import InvalidInput


def list_documents(
    state: Annotated[
        list[str] | None,
        typer.Option("--state", help=f"Only this state; may be repeated. One of {', '.join(STATES)}."),
    ] = None,
    topic: Topics = None,
    page_size: Annotated[int, typer.Option(min=1, max=1000, help="Documents shown.")] = 100,
    page_token: Annotated[str, typer.Option(help="The next page, as the page before names it.")] = "",
    json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """List documents with the state of their newest version, newest change first."""
    states = _states(state or ())

    async def work() -> ingest_pb2.ListDocumentsResponse:
        async with client_for(data_dir) as client:
            return await client.kb.list_page(
                states=states, topics=topic or (), page_size=page_size, page_token=page_token
            )

    page = run(work())
    if json:
        print_json(page, complete=True)
        return
    _show(page.documents)
    out.print(f"{len(page.documents)} shown, {page.total} in all")
    if page.next_page_token:
        filters = [part for name in state or () for part in ("--state", name)]
        filters += [part for name in topic or () for part in ("--topic", name)]
        more = ["radref", "kb", "list", *filters, "--page-size", str(page_size)]
        out.print(Text(f"next page: {shlex.join([*more, '--page-token', page.next_page_token])}"))


def _states(names: Sequence[str]) -> list[documents_pb2.DocumentState.ValueType]:
    unknown = [name for name in names if name not in STATES]
    if unknown:
        raise InvalidInput(f"there is no state {', '.join(unknown)}; known: {', '.join(STATES)}")
    return [STATES[name] for name in names]


def _show(documents: Sequence[ingest_pb2.DocumentSummary]) -> None:
    table = Table(title="Documents")
    for column in ("id", "topic", "state", "version", "searched", "title", "changed (UTC)", "notes"):
        table.add_column(column, overflow="fold")
    for document in documents:
        table.add_row(
            Text(document.document_id),
            Text(document.metadata.topic),
            state_name(document.state),
            str(document.version),
            str(document.active_version or "-"),
            Text(document.metadata.title or document.file_name),
            moment(document.updated_at),
            Text("; ".join(_notes(document))),
        )
    show_table(out, table)


def _notes(document: ingest_pb2.DocumentSummary) -> list[str]:
    notes = []
    if document.HasField("failure"):
        notes.append(failure_text(document.failure))
    if document.near_duplicates:
        twins = ", ".join(twin.document_id for twin in document.near_duplicates)
        notes.append(f"nearly the same as {twins}")
    if document.HasField("vanished_at"):
        notes.append(f"gone from its source since {moment(document.vanished_at)}")
    return notes
