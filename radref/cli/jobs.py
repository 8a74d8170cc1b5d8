"""Follows a job to its end in a terminal."""

from __future__ import annotations

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.text import Text

from radref.api.ingest.v1 import ingest_pb2
from radref.cli.names import failure_text, stage_name
from radref.cli.output import err, out, problem
from radref.knowledge_base import KnowledgeBase

# A whole knowledge base on a CPU takes days; the job ends by itself long before this.
WATCH_SECONDS = 30 * 86_400.0


async def finish_job(kb: KnowledgeBase, job_id: str, *, wait: bool) -> None:
    """Names the job, and unless told not to, waits for its end and says how it went.

    Raises:
        typer.Exit: 1, the job failed; the reason is printed.
    """
    out.print(Text(f"job {job_id}"))
    if not wait:
        out.print(Text(f"to follow it: radref kb watch {job_id}", style="dim"))
        return
    show_end(await _follow(kb, job_id, err))


async def _follow(kb: KnowledgeBase, job_id: str, console: Console) -> ingest_pb2.Job:
    job = ingest_pb2.Job(id=job_id)
    with Progress(
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    ) as progress:
        task = progress.add_task("queued", total=None)
        async for job in kb.watch_job(job_id, timeout=WATCH_SECONDS):
            steps = f" {job.done}/{job.total}" if job.total else ""
            progress.update(
                task,
                description=f"{stage_name(job.stage)}{steps}",
                completed=job.done,
                total=job.total or None,
            )
    return job


def show_end(job: ingest_pb2.Job) -> None:
    """Says what a finished job did.

    Raises:
        typer.Exit: 1, the job failed.
    """
    whole = job.kind == ingest_pb2.JOB_KIND_REEMBED
    what = "index" if whole else f"version {job.version} of {job.document_id}"
    for warning in job.warnings:
        err.print(Text(f"! {warning}", style="yellow"))
    if job.stage == ingest_pb2.JOB_STAGE_DONE:
        counts = f"{job.embedded} children embedded, {job.reused} reused"
        if whole:
            out.print(Text(f"index built anew: {job.done} documents; {counts}"))
        else:
            out.print(Text(f"indexed {what}: {job.parents} parents, {job.children} children; {counts}"))
        return
    if job.stage == ingest_pb2.JOB_STAGE_AWAIT_REVIEW:
        out.print(Text(f"{what} waits for review: radref kb approve {job.document_id}"))
        return
    if job.HasField("failure"):
        problem(f"{what}: {failure_text(job.failure)}")
        advice = (
            "What it needs may be back soon; to" if job.failure.retryable else "When the cause is gone, to"
        )
        err.print(f"{advice} try again: radref kb retry {job.id}", markup=False)
    else:
        problem(f"the ingest service stopped reporting on {what}; to look again: radref kb watch {job.id}")
    raise typer.Exit(1)
