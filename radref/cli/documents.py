"""`radref ingest`, `parse` and `status`: what curators do."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from google.protobuf.json_format import MessageToJson
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from radref.api.common.v1 import documents_pb2
from radref.api.ingest.v1 import ingest_pb2
from radref.cli.output import err, out
from radref.cli.paths import default_data_dir, find_addresses
from radref.cli.questions import DataDir, client_for, run
from radref.cli.stack import MODULES, serving
from radref.cli.uploading import Result, Upload, Verdict, find_uploads, require_topics, upload_all
from radref.client import RadrefClient
from radref.errors import InvalidInput

_SHOWN = (Verdict.INDEXED, Verdict.WAITING, Verdict.SKIPPED, Verdict.REFUSED, Verdict.FAILED)
_GOOD = (Verdict.INDEXED, Verdict.WAITING, Verdict.SKIPPED)


def ingest(
    paths: Annotated[list[Path], typer.Argument(help="Files or folders.")],
    topic: Annotated[str, typer.Option(help="Topic; wins over manifest.jsonl.")] = "",
    language: Annotated[str, typer.Option(help="Language (BCP 47); wins over manifest.jsonl.")] = "",
    data_dir: DataDir = None,
) -> None:
    """Upload documents and wait until each is indexed or refused. Exit code 1 when any was not accepted."""
    uploads, problems = find_uploads(paths, topic=topic, language=language)
    require_topics(uploads)
    if not uploads and not problems:
        raise InvalidInput("there are no documents under the given paths", reason="EMPTY_FILE")

    async def work() -> list[Result]:
        async with client_for(data_dir) as client:
            return await ingest_with_progress(client, uploads, err)

    results = [*problems, *run(work())]
    show_results(out, results)
    if any(result.verdict not in _GOOD for result in results):
        raise typer.Exit(1)


async def ingest_with_progress(
    client: RadrefClient, uploads: Sequence[Upload], console: Console
) -> list[Result]:
    """Uploads with a progress bar on `console`; one result a file, in the order of their ends."""
    results: list[Result] = []
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[doing]}"),
        console=console,
    ) as progress:
        task = progress.add_task("documents", total=len(uploads), doing="")
        async for event in upload_all(client, uploads):
            if isinstance(event, Result):
                results.append(event)
                progress.advance(task)
                if event.verdict not in _GOOD:
                    console.print(Text(f"{event.path.name}: {event.reason}", style="yellow"))
            else:
                stage = ingest_pb2.JobStage.Name(event.stage).removeprefix("JOB_STAGE_").lower()
                steps = f" {event.done}/{event.total}" if event.total else ""
                progress.update(task, doing=f"{event.document_id}: {stage}{steps}")
        progress.update(task, doing="")
    return results


def show_results(console: Console, results: Sequence[Result]) -> None:
    """A table of what was indexed, skipped and refused, and why; then the sums."""
    table = Table(title="Documents")
    for column in ("file", "result", "parents", "children", "why / notes"):
        table.add_column(column, overflow="fold")
    for verdict in _SHOWN:
        for result in sorted((r for r in results if r.verdict is verdict), key=lambda r: r.path.name):
            counts = (str(result.parents), str(result.children)) if result.children else ("", "")
            notes = "; ".join(filter(None, (result.reason, *result.warnings)))
            style = "" if verdict in _GOOD else "yellow"
            table.add_row(Text(result.path.name), Text(verdict, style=style), *counts, Text(notes))
    console.print(table)
    sums = Counter(result.verdict for result in results)
    parts = [f"{sums[verdict]} {verdict}" for verdict in _SHOWN if sums[verdict]]
    parents, children = sum(r.parents for r in results), sum(r.children for r in results)
    console.print(f"{len(results)} files: {', '.join(parts)}; {parents} parents, {children} children")


def parse(
    file: Annotated[Path, typer.Argument(help="The file.")],
    report: Annotated[Path | None, typer.Option(help="Write the parse report here (JSON).")] = None,
    data_dir: DataDir = None,
) -> None:
    """Print the Markdown that radref makes of a file, without keeping it."""
    try:
        data = file.read_bytes()
    except OSError as exc:
        raise InvalidInput(f"cannot read {file}: {exc.strerror}", reason="INVALID_FIELD") from None

    async def work() -> ingest_pb2.ParseDocumentResponse:
        async with client_for(data_dir) as client:
            return await client.parse_file(data, file.name)

    response = run(work())
    typer.echo(response.markdown)
    if report is not None:
        text = MessageToJson(response.report, preserving_proto_field_name=True, ensure_ascii=False, indent=2)
        report.write_text(text + "\n", encoding="utf-8")
    for warning in response.report.warnings:
        err.print(Text(f"! {warning}", style="yellow"))


def status(data_dir: DataDir = None) -> None:
    """Show which services answer and what the knowledge base holds. Exit code 1 when one does not answer."""
    addresses = find_addresses(data_dir or default_data_dir())
    table = Table(title="Services")
    for column in ("service", "address", "state"):
        table.add_column(column)
    up = True
    for name in reversed(MODULES):
        address = getattr(addresses, name)
        ok = serving(address)
        up &= ok
        table.add_row(name, address, "serving" if ok else Text("not serving", style="red"))
    out.print(table)

    async def documents() -> Counter[tuple[str, str]]:
        counts: Counter[tuple[str, str]] = Counter()
        async with client_for(data_dir) as client:
            async for document in client.list_documents():
                state = documents_pb2.DocumentState.Name(document.state)
                counts[document.metadata.topic, state.removeprefix("DOCUMENT_STATE_").lower()] += 1
        return counts

    if serving(addresses.ingest):
        held = Table(title="Knowledge base")
        for column in ("topic", "state", "documents"):
            held.add_column(column)
        for (topic, state), count in sorted(asyncio.run(documents()).items()):
            held.add_row(topic, state, str(count))
        out.print(held)
    if not up:
        raise typer.Exit(1)
