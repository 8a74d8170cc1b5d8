"""`radref eval calibrate`, from options to result."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from evaluation.bootstrap import Interval
from evaluation.calibration.fit import PENALTY, fit_weights, out_of_fold_scores
from evaluation.calibration.plot import trade_off_svg
from evaluation.calibration.signals import SIGNALS, CollectedSignals, collect_signals
from evaluation.calibration.snippet import gate_yaml
from evaluation.calibration.trade_off import Point, area, bound_for, outlier_bound, point_at, trade_off
from evaluation.ingest_corpus import UploadResult, corpus_uploads
from evaluation.ingest_progress import ingest_with_progress
from evaluation.progress import progress_on
from evaluation.questions import load_questions
from evaluation.results import file_fingerprint, result_meta
from evaluation.system import Target, open_system
from radref.errors import InvalidInput

FOLDS = 5
SEED = 20260101


@dataclass(frozen=True)
class CalibrateOptions:
    """Options of `radref eval calibrate`; see its help."""

    corpus: Path
    question_set: Path
    data_dir: Path | None
    target: Target | None
    max_false_abstention: float | None
    concurrency: int
    window: int
    timeout: float


@dataclass(frozen=True)
class Calibration:
    """What is written and shown.

    Attributes:
        result: for --json.
        thresholds: settings as YAML.
        plot: SVG.
        points, chosen: the trade-off, out of fold.
    """

    result: dict[str, Any]
    thresholds: str
    plot: str
    points: list[Point]
    chosen: Point


async def calibrate(options: CalibrateOptions, console: Console) -> Calibration:
    """Indexes the corpus where it may, searches every question, fits the gate.

    Raises:
        RadrefError: input that cannot be read or holds too few questions of a kind, a system that does not
            start, or too many failed calls.
    """
    questions = load_questions(options.question_set)
    if min(sum(q.answerable for q in questions), sum(not q.answerable for q in questions)) < FOLDS:
        raise InvalidInput(
            f"calibrating needs at least {FOLDS} answerable and {FOLDS} unanswerable questions", field="set"
        )
    must_ingest = options.target is None or options.target.ingest is not None
    uploads = corpus_uploads(options.corpus) if must_ingest else []
    async with open_system(options.target, options.data_dir, console) as system:
        results: list[UploadResult] | None = None
        if system.can_ingest:
            results = await ingest_with_progress(
                system.client, uploads, window=options.window, console=console
            )
        with progress_on(console) as progress:
            bar = progress.add_task("Searching", total=len(questions))
            collected = await collect_signals(
                system.client,
                questions,
                concurrency=options.concurrency,
                timeout=options.timeout,
                on_done=lambda: progress.advance(bar),
            )
    if collected.failures.count:
        console.print(f"{collected.failures.count} questions failed: {collected.failures.summary()}")
    settings = {
        "set": file_fingerprint(options.question_set),
        "corpus": options.corpus.name,
        "target": asdict(options.target) if options.target else None,
        "max_false_abstention": options.max_false_abstention,
        "folds": FOLDS,
        "seed": SEED,
        "penalty": PENALTY,
    }
    meta = result_meta(
        versions=collected.versions, settings=settings, uploads=results, errors=collected.failures.reasons
    )
    return fit_gate(collected, options.max_false_abstention, meta)


def fit_gate(
    collected: CollectedSignals, max_false_abstention: float | None, meta: dict[str, Any]
) -> Calibration:
    """Weights from all questions; the bound and every figure from scores out of fold.

    Args:
        max_false_abstention: share of answerable questions that the bound may refuse, 0-1; None = the bound
            stops outliers only.
        meta: of the result; names set and date.
    """
    values, answerable = collected.values, collected.answerable
    weights = fit_weights(values, answerable)
    scores = out_of_fold_scores(values, answerable, folds=FOLDS, seed=SEED)
    points = trade_off(scores, answerable)
    if max_false_abstention is None:
        bound = outlier_bound(scores[answerable])
    else:
        bound = bound_for(scores[answerable], max_false_abstention)
    chosen = point_at(bound, scores, answerable)
    counts = f"{int(answerable.sum())} answerable, {int((~answerable).sum())} unanswerable questions"
    source = f"radref eval calibrate, {meta['date'][:10]}, {meta['settings']['set']['file']}: {counts}"
    result = {
        "n": len(answerable),
        "auc": area(scores, answerable),
        "auc_of_each_signal": _areas(collected),
        "weights": {name: float(weight) for name, weight in zip(SIGNALS, weights.weight, strict=True)},
        "typical": {name: float(value) for name, value in zip(SIGNALS, weights.typical, strict=True)},
        "chosen": asdict(chosen),
        "trade_off": [asdict(point) for point in points],
        "meta": meta,
    }
    return Calibration(
        result=result,
        thresholds=gate_yaml(weights, chosen.bound, collected.versions, source),
        plot=trade_off_svg(points, chosen, f"{counts}, {FOLDS}-fold out of fold, bars: 95 % bootstrap"),
        points=points,
        chosen=chosen,
    )


def calibration_table(calibration: Calibration) -> Table:
    """The trade-off for people."""
    table = Table(
        title=f"evidence gate, out of fold, AUC {calibration.result['auc']:.2f}", title_justify="left"
    )
    for column in ("bound", "false abstention", "95 %", "false answer", "95 %"):
        table.add_column(column, justify="right")
    for point in calibration.points:
        table.add_row(
            f"{point.bound:.3f}" + (" *" if point.bound == calibration.chosen.bound else ""),
            f"{point.false_abstention * 100:.1f} %",
            _interval(point.false_abstention_ci),
            f"{point.false_answer * 100:.1f} %",
            _interval(point.false_answer_ci),
        )
    chosen = calibration.chosen
    table.caption = (
        f"* chosen: {chosen.bound:.3f}, refuses {chosen.false_abstention * 100:.1f} %, "
        f"lets {chosen.false_answer * 100:.1f} % pass"
    )
    return table


def _areas(collected: CollectedSignals) -> dict[str, float | None]:
    areas: dict[str, float | None] = {}
    for column, name in enumerate(SIGNALS):
        values = collected.values[:, column]
        areas[name] = None if (values != values).any() else area(values, collected.answerable)
    return areas


def _interval(interval: Interval | None) -> str:
    return "-" if interval is None else f"{interval[0] * 100:.1f} - {interval[1] * 100:.1f}"
