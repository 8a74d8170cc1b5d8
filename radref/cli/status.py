"""`radref status`: what answers, what the knowledge base holds, what waits for somebody."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import typer
from rich.table import Table
from rich.text import Text

from radref.api.common.v1 import documents_pb2
from radref.api.ingest.v1 import ingest_pb2
from radref.cli.names import failure_text, state_name
from radref.cli.output import out, show_table
from radref.cli.paths import default_data_dir, find_addresses
from radref.cli.questions import DataDir, client_for, run
from radref.cli.stack import MODULES, serving

# More would push what matters off the screen; `radref kb list` shows all.
SHOWN = 20


def status(data_dir: DataDir = None) -> None:
    """Show which services answer, what the knowledge base holds, what waits for review and what failed.

    Exit code 1 when a service does not answer.
    """
    addresses = find_addresses(data_dir or default_data_dir())
    table = Table(title="Services")
    for column in ("service", "address", "state"):
        table.add_column(column)
    down = []
    for name in reversed(MODULES):
        address = getattr(addresses, name)
        if not serving(address):
            down.append(name)
        table.add_row(name, address, Text("not serving", style="red") if name in down else "serving")
    show_table(out, table)

    async def documents() -> list[ingest_pb2.DocumentSummary]:
        async with client_for(data_dir) as client:
            return [document async for document in client.list_documents()]

    if "ingest" not in down:
        _show_documents(run(documents()))
    if down:
        raise typer.Exit(1)


def _show_documents(documents: Sequence[ingest_pb2.DocumentSummary]) -> None:
    counts = Counter((document.metadata.topic, state_name(document.state)) for document in documents)
    held = Table(title="Knowledge base")
    for column in ("topic", "state", "documents"):
        held.add_column(column)
    for (topic, state), count in sorted(counts.items()):
        held.add_row(Text(topic), state, str(count))
    show_table(out, held)
    waiting = [d.document_id for d in documents if d.state == documents_pb2.DOCUMENT_STATE_PARSED]
    if waiting:
        out.print(f"{len(waiting)} waiting for review:")
        _show_some([f"radref kb show {document_id}" for document_id in waiting], "parsed")
    failed = [d for d in documents if d.state == documents_pb2.DOCUMENT_STATE_FAILED]
    if failed:
        out.print(f"{len(failed)} failed:")
        _show_some([f"{d.document_id}: {failure_text(d.failure)}" for d in failed], "failed")


def _show_some(lines: Sequence[str], state: str) -> None:
    for line in lines[:SHOWN]:
        out.print(Text(f"  {line}"))
    if len(lines) > SHOWN:
        out.print(f"  and {len(lines) - SHOWN} more: radref kb list --state {state}")
