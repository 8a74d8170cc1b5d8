"""`radref kb load-variants` and `check-variants`: knowledge base files of imaging appropriateness."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from radref.appropriateness.kb_file import KnowledgeBase as KbFile
from radref.appropriateness.kb_file import read_kb
from radref.cli.actor import As, actor_name
from radref.cli.output import err, out, show_table
from radref.cli.questions import DataDir, client_for, run
from radref.cli.variant_loading import send_all, withdraw
from radref.cli.variant_plan import Change, Step, make_plan
from radref.client import RadrefClient
from radref.errors import InvalidInput

KbPath = Annotated[Path, typer.Argument(metavar="FILE", help="Knowledge base file (appropriateness-kb/2).")]
_SENT = (Change.NEW, Change.CHANGED)
_SUMMED = (Change.NEW, Change.CHANGED, Change.UNCHANGED, Change.WITHDRAWN, Change.FAILED)


def check_variants(file: KbPath) -> None:
    """Check a knowledge base file, without a running radref. Exit code 1 when it has mistakes."""
    try:
        base = read_kb(file)
    except InvalidInput as exc:
        err.print(Text(exc.message))
        raise typer.Exit(1) from None
    out.print(Text(f"{file}: good. {_described(base)}"))


def load_variants(
    file: KbPath,
    withdraw_missing: Annotated[
        bool,
        typer.Option(
            "--withdraw-missing",
            help="Withdraw every variant that this file does not hold, also those of other files.",
        ),
    ] = False,
    reason: Annotated[str, typer.Option("--reason", help="Why they are withdrawn; needed.")] = "",
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before withdrawing.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would change.")] = False,
    reopen: Annotated[
        bool, typer.Option("--reopen", help="Also send again what was withdrawn or rejected.")
    ] = False,
    as_: As = None,
    data_dir: DataDir = None,
) -> None:
    """Load the variants of a knowledge base file and wait until each is indexed or waits for review.

    The whole file is checked before anything is sent. A changed variant becomes a new version of its
    document; the version before answers until then. Exit code 1 when any could not be loaded.
    """
    if withdraw_missing and not reason.strip():
        raise InvalidInput("say why with --reason", reason="EMPTY_TEXT", field="reason")
    base = read_kb(file)
    out.print(Text(_described(base)))

    async def work() -> list[Step]:
        async with client_for(data_dir, actor_name(as_)) as client:
            plan = await make_plan(client.kb, base.variants, reopen=reopen)
            missing = [step for step in plan if step.change is Change.MISSING]
            if dry_run:
                return plan
            if withdraw_missing and missing and not yes:
                _ask(missing)
            done = await _carried_out(client, plan)
            if withdraw_missing:
                done = await _withdrawn(client, done, reason)
            return done

    steps = run(work())
    _show(steps, dry_run=dry_run, withdraws=withdraw_missing)
    if any(step.change is Change.FAILED for step in steps):
        raise typer.Exit(1)


def _described(base: KbFile) -> str:
    topics = len({variant.topic_id for variant in base.variants})
    mark = ", synthetic: every answer says so" if base.synthetic else ""
    return f"Version {base.version}: {len(base.variants)} variants in {topics} topics{mark}."


def _ask(missing: Sequence[Step]) -> None:
    """Raises typer.Exit unless a person agrees."""
    if not sys.stdin.isatty():
        raise InvalidInput("there is no terminal to ask in: say --yes to withdraw without asking")
    out.print(Text("not in the file:"))
    for step in missing:
        out.print(Text(f"  {step.variant_id}"))
    if not typer.confirm(f"Take these {len(missing)} out of retrieval?"):
        out.print("nothing was changed")
        raise typer.Exit(1)


async def _carried_out(client: RadrefClient, plan: Sequence[Step]) -> list[Step]:
    to_send = [step for step in plan if step.change in _SENT]
    results = {step.document_id: step for step in plan}
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=err,
        disable=not to_send,
    ) as progress:
        task = progress.add_task("variants", total=len(to_send))
        async for step in send_all(client.kb, to_send):
            results[step.document_id] = step
            progress.advance(task)
    return list(results.values())


async def _withdrawn(client: RadrefClient, steps: Sequence[Step], reason: str) -> list[Step]:
    """What is not in the file is withdrawn; nothing is while a variant that may take its place failed."""
    failed = any(step.change is Change.FAILED for step in steps)
    done: list[Step] = []
    for step in steps:
        if step.change is not Change.MISSING:
            done.append(step)
        elif failed:
            done.append(replace(step, note="not withdrawn, because a variant failed"))
        else:
            done.append(await withdraw(client.kb, step, reason))
    return done


def _note(step: Step, *, withdraws: bool) -> str:
    if step.change is Change.MISSING and not step.note:
        return "would be withdrawn" if withdraws else "stays; --withdraw-missing takes it out"
    waits = "waits for review" if step.waits and step.change is not Change.UNCHANGED else ""
    return "; ".join(filter(None, (step.note, waits)))


def _show(steps: Sequence[Step], *, dry_run: bool, withdraws: bool) -> None:
    table = Table(title="What would change" if dry_run else "Variants")
    for column in ("variant", "result", "notes"):
        table.add_column(column, overflow="fold")
    for step in steps:
        if step.change is not Change.UNCHANGED or step.note:
            style = "yellow" if step.change in (Change.FAILED, Change.SKIPPED) else ""
            note = _note(step, withdraws=dry_run and withdraws)
            table.add_row(Text(step.variant_id), Text(step.change, style=style), Text(note))
    if table.row_count:
        show_table(out, table)
    counts = Counter(step.change for step in steps)
    sums = [f"{counts[change]} {change}" for change in _SUMMED]
    sums += [f"{counts[change]} {change}" for change in (Change.SKIPPED, Change.MISSING) if counts[change]]
    out.print(", ".join(sums))
    if dry_run:
        out.print("nothing was sent")
        return
    if waiting := [step.document_id for step in steps if step.waits]:
        out.print("waiting for review; see a text with radref kb show ID --markdown, then:")
        for document_id in waiting:
            out.print(f"  radref kb approve {document_id}", markup=False)
