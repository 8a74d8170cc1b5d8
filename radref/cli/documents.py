"""`radref ingest` and `parse`: files in."""

from __future__ import annotations

import time
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

from radref.api.ingest.v1 import ingest_pb2
from radref.cli.actor import As, actor_name
from radref.cli.names import stage_name
from radref.cli.output import err, out, show_table
from radref.cli.questions import DataDir, client_for, run
from radref.cli.uploading import find_uploads, require_topics, upload_all
from radref.cli.uploads import Result, Upload, Verdict
from radref.client import RadrefClient
from radref.errors import InvalidInput

_SHOWN = (Verdict.INDEXED, Verdict.WAITING, Verdict.SKIPPED, Verdict.REFUSED, Verdict.FAILED)
_GOOD = (Verdict.INDEXED, Verdict.WAITING, Verdict.SKIPPED)


def ingest(
    paths: Annotated[list[Path], typer.Argument(help="Files or folders.")],
    topic: Annotated[str, typer.Option(help="Topic; wins over manifest.jsonl.")] = "",
    language: Annotated[str, typer.Option(help="Language (BCP 47); wins over manifest.jsonl.")] = "",
    reopen: Annotated[
        bool,
        typer.Option(
            "--reopen", help="Also try again what was withdrawn, was rejected or could not be read."
        ),
    ] = False,
    as_: As = None,
    data_dir: DataDir = None,
) -> None:
    """Upload documents and wait until each is indexed or refused. Exit code 1 when any was not accepted.

    Run again over the same folder, it uploads what changed: a changed file becomes a new version of its
    document, an unchanged one is skipped. A file is the same document as long as its doc_id in
    manifest.jsonl, or else its path inside the given folder, stays the same.
    """
    uploads, problems = find_uploads(paths, topic=topic, language=language)
    require_topics(uploads)
    if not uploads and not problems:
        raise InvalidInput("there are no documents under the given paths", reason="EMPTY_FILE")

    async def work() -> list[Result]:
        async with client_for(data_dir, actor_name(as_)) as client:
            return await ingest_with_progress(client, uploads, err, reopen=reopen)

    began = time.monotonic()
    results = [*problems, *run(work())]
    show_results(out, results, seconds=time.monotonic() - began)
    if any(result.verdict not in _GOOD for result in results):
        raise typer.Exit(1)


async def ingest_with_progress(
    client: RadrefClient, uploads: Sequence[Upload], console: Console, *, reopen: bool = False
) -> list[Result]:
    """Uploads with a progress bar on `console`; one result a file, in the order of their ends.

    `reopen`: also what was withdrawn or rejected before.
    """
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
        async for event in upload_all(client, uploads, reopen=reopen):
            if isinstance(event, Result):
                results.append(event)
                progress.advance(task)
                if event.verdict not in _GOOD:
                    console.print(Text(f"{_printable(event.path.name)}: {event.reason}", style="yellow"))
            else:
                steps = f" {event.done}/{event.total}" if event.total else ""
                progress.update(task, doing=f"{event.document_id}: {stage_name(event.stage)}{steps}")
        progress.update(task, doing="")
    return results


def show_results(console: Console, results: Sequence[Result], *, seconds: float) -> None:
    """A table of what was indexed, skipped and refused, and why; the sums; what waits for a reviewer.

    `seconds`: how long it took, > 0.
    """
    table = Table(title="Documents")
    for column in ("file", "result", "parents", "children", "why / notes"):
        table.add_column(column, overflow="fold")
    for verdict in _SHOWN:
        for result in sorted((r for r in results if r.verdict is verdict), key=lambda r: r.path.name):
            counts = (str(result.parents), str(result.children)) if result.children else ("", "")
            version = f"version {result.version}" if result.version > 1 else ""
            notes = "; ".join(filter(None, (result.reason, version, *result.warnings)))
            style = "" if verdict in _GOOD else "yellow"
            table.add_row(
                Text(_printable(result.path.name)),
                Text(verdict, style=style),
                *counts,
                Text(_printable(notes)),
            )
    show_table(console, table)
    console.print(_sums(results, seconds))
    if waiting := sorted(result.document_id for result in results if result.verdict is Verdict.WAITING):
        console.print("waiting for review:")
        for document_id in waiting:
            console.print(f"  radref kb approve {document_id}", markup=False)


def _printable(name: str) -> str:
    # File names may hold bytes that are no text.
    return name.encode("utf-8", "replace").decode("utf-8")


def _sums(results: Sequence[Result], seconds: float) -> str:
    counts = Counter(result.verdict for result in results)
    parts = [f"{counts[verdict]} {verdict}" for verdict in _SHOWN if counts[verdict]]
    text = f"{len(results)} files: {', '.join(parts)}"
    text += f"; {sum(r.parents for r in results)} parents, {sum(r.children for r in results)} children"
    text += f" ({sum(r.embedded for r in results)} embedded, {sum(r.reused for r in results)} reused)"
    done = counts[Verdict.INDEXED] + counts[Verdict.WAITING]
    return f"{text}; {60 * done / seconds:.0f} documents a minute" if done else text


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
