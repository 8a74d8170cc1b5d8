"""`radref demo`: the main job on the samples, from files to checked answers."""

from __future__ import annotations

import asyncio
import tempfile
import time
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from radref.cli.answer import show_answer
from radref.cli.documents import ingest_with_progress, show_results
from radref.cli.output import err, out, problem
from radref.cli.stack import Stack, StackError
from radref.cli.uploading import find_uploads, require_topics
from radref.client import RadrefClient

QUESTIONS = (
    "Bowel clips were placed two months ago. How many days must pass before the scanner?",
    "Какой предел дозы для хрусталика глаза у персонала?",
    "What is the parking fee for visitors of the MRI department?",
)


def demo(
    samples: Annotated[Path, typer.Option(help="Folder of the sample documents.")] = Path(
        "samples/documents"
    ),
) -> None:
    """Start the services, ingest the samples, ask three questions (one must be refused), stop."""
    if not samples.is_dir():
        problem(f"there is no folder {samples}: run this in a checkout of radref")
        raise typer.Exit(2)
    started = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="radref-demo-") as directory:
        stack = Stack(Path(directory))
        try:
            stack.start()
            out.print("starting the four services ...")
            stack.wait_until_serving()
            out.print(f"serving after {time.perf_counter() - started:.1f} s")
            asyncio.run(_main_job(stack, samples))
        except StackError as exc:
            problem(str(exc))
            raise typer.Exit(1) from None
        finally:
            stack.stop()
    out.print(f"stopped; {time.perf_counter() - started:.1f} s in all")
    out.print("Next: radref up (in one terminal), radref ingest PATH and radref ask QUESTION (in another).")


async def _main_job(stack: Stack, samples: Path) -> None:
    uploads, problems = find_uploads([samples], topic="", language="")
    require_topics(uploads)
    async with RadrefClient(gateway=stack.addresses.gateway, ingest=stack.addresses.ingest) as client:
        began = time.perf_counter()
        results = await ingest_with_progress(client, uploads, err)
        took = time.perf_counter() - began
        show_results(out, [*problems, *results], seconds=took)
        out.print(f"ingested in {took:.1f} s\n")
        for question in QUESTIONS:
            out.print(Text(f"Q: {question}", style="bold"))
            show_answer(out, await client.generate(question))
            out.print()
