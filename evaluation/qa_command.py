"""`radref eval qa`, from options to result."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from evaluation.ingest_corpus import UploadResult, corpus_uploads
from evaluation.ingest_progress import ingest_with_progress
from evaluation.progress import progress_on
from evaluation.qa_metrics import Observation, qa_figures
from evaluation.qa_run import run_questions
from evaluation.questions import load_questions
from evaluation.results import file_fingerprint, result_meta, rounded, write_text
from evaluation.system import Target, open_system


@dataclass(frozen=True)
class QaOptions:
    """Options of `radref eval qa`; see its help."""

    corpus: Path
    question_set: Path
    data_dir: Path | None
    target: Target | None
    concurrency: int
    window: int
    timeout: float


async def measure_qa(options: QaOptions, console: Console) -> tuple[dict[str, Any], tuple[Observation, ...]]:
    """Indexes the corpus, asks every question, computes the figures.

    Args:
        options: what to measure.
        console: for progress and warnings.

    Returns:
        (result with the documented keys plus `ci95` and `meta`, observations).

    Raises:
        RadrefError: input that cannot be read, a system that does not start, or too many failed calls.
    """
    questions = load_questions(options.question_set)
    must_ingest = options.target is None or options.target.ingest is not None
    uploads = corpus_uploads(options.corpus) if must_ingest else []
    async with open_system(options.target, options.data_dir, console) as system:
        results: list[UploadResult] | None = None
        if system.can_ingest:
            results = await ingest_with_progress(
                system.client, uploads, window=options.window, console=console
            )
        stored_ids = {result.document_id: result.stored_id for result in results or () if result.stored_id}
        with progress_on(console) as progress:
            bar = progress.add_task("Asking", total=len(questions))
            run = await run_questions(
                system.client,
                questions,
                stored_ids=stored_ids,
                concurrency=options.concurrency,
                timeout=options.timeout,
                on_done=lambda: progress.advance(bar),
            )
    if run.failures.count:
        console.print(f"{run.failures.count} questions failed and are in no figure: {run.failures.summary()}")
    figures, intervals = qa_figures(run.observations)
    settings = {
        "set": file_fingerprint(options.question_set),
        "corpus": options.corpus.name,
        "target": asdict(options.target) if options.target else None,
        "concurrency": options.concurrency,
        "timeout_seconds": options.timeout,
    }
    meta = result_meta(versions=run.versions, settings=settings, uploads=results, errors=run.failures.reasons)
    return {**figures, "ci95": intervals, "meta": meta}, run.observations


def write_details(path: Path, observations: Sequence[Observation]) -> None:
    """One JSON object a question: ids and observations, without any text of questions or answers.

    Raises:
        InvalidInput: the place cannot be written.
    """
    rows = []
    for observation in observations:
        row = asdict(observation)
        question = row.pop("question")
        kept = {key: question[key] for key in ("id", "level", "language", "doc_language", "answerable")}
        facts = {"facts": len(question["key_facts"]), "quotes": len(question["gold_quotes"])}
        rows.append(json.dumps(rounded({**kept, **facts, **row}), ensure_ascii=False))
    write_text(path, "".join(f"{row}\n" for row in rows))
