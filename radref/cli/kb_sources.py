"""`radref kb sources`: what the source watch saw."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from radref.api.ingest.v1 import ingest_pb2
from radref.cli.names import moment
from radref.cli.output import out, print_json_lists, show_table
from radref.cli.questions import AsJson, DataDir, client_for, run


def sources(
    troubled: Annotated[
        bool, typer.Option("--troubled", help="Only files that are gone, or could not be looked at.")
    ] = False,
    json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """Show watched files and addresses: when they were looked at, when they changed, what is wrong."""

    async def work() -> Sequence[ingest_pb2.WatchedFile]:
        async with client_for(data_dir) as client:
            return await client.kb.list_watched_files(only_troubled=troubled)

    files = run(work())
    if json:
        print_json_lists({"files": files})
        return
    if not files:
        out.print("No trouble." if troubled else "No files are watched; sources are named in the settings.")
        return
    table = Table(title="Watched sources")
    for column in ("location", "source", "document", "checked (UTC)", "changed (UTC)", "trouble"):
        table.add_column(column, overflow="fold")
    for file in files:
        gone = f"gone since {moment(file.vanished_at)}" if file.HasField("vanished_at") else ""
        table.add_row(
            Text(file.location),
            Text(file.source),
            Text(file.document_id or "-"),
            moment(file.checked_at),
            moment(file.changed_at),
            Text("; ".join(filter(None, (gone, file.failure)))),
        )
    show_table(out, table)
