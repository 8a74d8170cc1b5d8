"""`radref kb watch` and `retry`: the jobs behind the changes."""

from __future__ import annotations

from typing import Annotated

import typer

from radref.cli.actor import As, actor_name
from radref.cli.jobs import finish_job
from radref.cli.questions import DataDir, client_for, run

JobId = Annotated[str, typer.Argument(metavar="JOB", help="Id of the job, as the other commands print it.")]
NoWait = Annotated[bool, typer.Option("--no-wait", help="Do not wait for the end of the job.")]


def watch(job: JobId, data_dir: DataDir = None) -> None:
    """Follow a job to its end. Exit code 1 when it failed."""

    async def work() -> None:
        async with client_for(data_dir) as client:
            await finish_job(client.kb, job, wait=True)

    run(work())


def retry(job: JobId, no_wait: NoWait = False, as_: As = None, data_dir: DataDir = None) -> None:
    """Run a failed job again, and wait for its end. Exit code 1 when it fails again."""

    async def work() -> None:
        async with client_for(data_dir, actor_name(as_)) as client:
            again = await client.kb.retry_job(job)
            await finish_job(client.kb, again.id, wait=not no_wait)

    run(work())
