"""`radref bench`, from options to result."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from evaluation.bench.figures import bench_figures
from evaluation.bench.load import SEED, run_load
from evaluation.progress import progress_on
from evaluation.questions import load_questions
from evaluation.results import file_fingerprint, result_meta
from evaluation.system import Target, open_system
from radref.client import RadrefClient
from radref.errors import InvalidInput, PreconditionFailed


@dataclass(frozen=True)
class BenchOptions:
    """Options of `radref bench`; see its help."""

    target: Target | None
    data_dir: Path | None
    question_set: Path
    concurrency: int
    seconds: float
    warmup: float
    timeout: float


async def measure_bench(options: BenchOptions, console: Console) -> dict[str, Any]:
    """Puts the load on Search and computes the figures.

    Args:
        options: what to measure.
        console: for progress.

    Returns:
        `concurrency`, the figures of `bench_figures`, and `meta`.

    Raises:
        InvalidInput: the question set cannot be read, or the time was too short for a single call.
        PreconditionFailed: the knowledge base is empty.
        RadrefError: a system that does not start or does not answer, or too many failed calls.
    """
    questions = [question.query for question in load_questions(options.question_set)]
    async with open_system(options.target, options.data_dir, console) as system:
        await _not_empty(system.client, questions[0], options.timeout)
        # The bar is drawn by the process that measures: not more often than a person needs.
        with progress_on(console, refreshes=2) as progress:
            total = int(options.warmup + options.seconds)
            bar = progress.add_task("Searching, seconds", total=total)
            load = await run_load(
                system.client,
                questions,
                concurrency=options.concurrency,
                warmup=options.warmup,
                seconds=options.seconds,
                timeout=options.timeout,
                on_progress=lambda elapsed: progress.update(bar, completed=min(int(elapsed), total)),
            )
    if not load.calls:
        raise InvalidInput("no call that counts was answered: measure for more --seconds", field="seconds")
    settings = {
        "set": file_fingerprint(options.question_set),
        "questions": len(questions),
        "seed": SEED,
        "target": asdict(options.target) if options.target else None,
        "concurrency": options.concurrency,
        "seconds": options.seconds,
        "warmup_seconds": options.warmup,
        "timeout_seconds": options.timeout,
    }
    meta = result_meta(versions=load.versions, settings=settings, uploads=None, errors=load.errors)
    return {"concurrency": options.concurrency, **bench_figures(load), "meta": meta}


async def _not_empty(client: RadrefClient, question: str, timeout: float) -> None:
    """A search in an empty index embeds nothing and finds nothing; its times would mean nothing."""
    response = await client.search(question, timeout=timeout)
    if not response.versions.embedder:
        raise PreconditionFailed("the knowledge base is empty: ingest documents first (radref ingest)")
