"""`radref eval retrieval`, from options to result."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from evaluation.bootstrap import quantile, quantile_interval
from evaluation.datasets import RetrievalDataset, XquadLanguage, load_dataset
from evaluation.ingest_corpus import UploadResult
from evaluation.ingest_progress import ingest_with_progress
from evaluation.progress import progress_on
from evaluation.results import result_meta
from evaluation.retrieval_metrics import ranking_figures
from evaluation.retrieval_run import LIMITS, Leg, LegRun, dataset_uploads, document_id, has_reranker, run_leg
from evaluation.system import System, Target, open_system
from radref.api.gateway.v1 import answer_pb2

NO_RERANKER = "the system has no reranker"


@dataclass(frozen=True)
class RetrievalOptions:
    """Options of `radref eval retrieval`; see its help."""

    dataset: Path
    passages: XquadLanguage
    questions: XquadLanguage
    legs: tuple[Leg, ...]
    topic: str
    data_dir: Path | None
    target: Target | None
    concurrency: int
    window: int
    timeout: float


async def measure_retrieval(options: RetrievalOptions, console: Console) -> dict[str, Any]:
    """Indexes the documents of a data set, searches its queries leg by leg, computes the figures.

    Args:
        options: what to measure.
        console: for progress and warnings.

    Returns:
        `{"dataset", "legs": {leg: figures or {"skipped": why}}, "latency_ms": {leg: {p50, p95}}}` plus
        `ci95` (same paths) and `meta`.

    Raises:
        RadrefError: input that cannot be read, a system that does not start, or too many failed calls.
    """
    dataset = load_dataset(options.dataset, passages=options.passages, questions=options.questions)
    async with open_system(options.target, options.data_dir, console) as system:
        results: list[UploadResult] | None = None
        if system.can_ingest:
            uploads = dataset_uploads(dataset, options.topic)
            results = await ingest_with_progress(
                system.client, uploads, window=options.window, console=console
            )
        runs = await _run_legs(system, dataset, _stored(dataset, results), options, console)
    return _result(dataset, runs, results, options)


def _stored(dataset: RetrievalDataset, results: Sequence[UploadResult] | None) -> dict[str, list[str]]:
    """Id in the system -> ids of the data set."""
    known = {result.document_id: result.stored_id for result in results or ()}
    stored: dict[str, list[str]] = defaultdict(list)
    for document in dataset.documents:
        identifier = document_id(dataset, document)
        stored[known.get(identifier) or identifier].append(document.id)
    return dict(stored)


async def _run_legs(
    system: System,
    dataset: RetrievalDataset,
    stored: dict[str, list[str]],
    options: RetrievalOptions,
    console: Console,
) -> dict[Leg, LegRun | None]:
    """A run a leg; None = skipped for want of a reranker."""
    runs: dict[Leg, LegRun | None] = {}
    with progress_on(console) as progress:
        for leg in options.legs:
            if leg is Leg.HYBRID_RERANK:
                probe = next(iter(dataset.queries.values()))
                if not await has_reranker(system.client, probe, timeout=options.timeout):
                    runs[leg] = None
                    continue
            bar = progress.add_task(f"Searching, {leg}", total=len(dataset.queries))
            runs[leg] = await run_leg(
                system.client,
                dataset,
                leg,
                stored=stored,
                topic=options.topic,
                concurrency=options.concurrency,
                timeout=options.timeout,
                on_done=lambda bar=bar: progress.advance(bar),  # type: ignore[misc]
            )
    for leg, run in runs.items():
        if run is not None and run.failures.count:
            summary = run.failures.summary()
            console.print(f"{leg}: {run.failures.count} queries failed and are in no figure: {summary}")
    return runs


def _result(
    dataset: RetrievalDataset,
    runs: dict[Leg, LegRun | None],
    uploads: list[UploadResult] | None,
    options: RetrievalOptions,
) -> dict[str, Any]:
    legs: dict[str, Any] = {}
    latency: dict[str, Any] = {}
    intervals: dict[str, Any] = {"legs": {}, "latency_ms": {}}
    versions = answer_pb2.Versions()
    errors: dict[str, int] = {}
    for leg, run in runs.items():
        if run is None:
            legs[leg.value] = {"skipped": NO_RERANKER}
            continue
        legs[leg.value], figure_intervals = ranking_figures(run.rankings, dataset.qrels)
        points = {"p50": 0.5, "p95": 0.95}
        latency[leg.value] = {name: quantile(run.latencies_ms, q) for name, q in points.items()}
        bounds = {name: quantile_interval(run.latencies_ms, q) for name, q in points.items()}
        intervals["legs"][leg.value] = figure_intervals
        intervals["latency_ms"][leg.value] = bounds
        versions = run.versions
        for reason, count in run.failures.reasons.items():
            errors[reason] = errors.get(reason, 0) + count
    settings = {
        "documents": len(dataset.documents),
        "queries": len(dataset.queries),
        "topic": options.topic,
        "limits": {
            "per_collection": LIMITS.per_collection,
            "candidates": LIMITS.candidates,
            "parents": LIMITS.parents,
        },
        "target": asdict(options.target) if options.target else None,
        "concurrency": options.concurrency,
        "timeout_seconds": options.timeout,
    }
    meta = result_meta(versions=versions, settings=settings, uploads=uploads, errors=errors)
    return {"dataset": dataset.name, "legs": legs, "latency_ms": latency, "ci95": intervals, "meta": meta}
