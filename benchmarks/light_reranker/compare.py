"""Light rerankers against none, on collected questions.

    python -m benchmarks.light_reranker.compare --dev dev.jsonl samples.jsonl scifact.jsonl xquad-ru.jsonl

Reads files of `collect`; beside each FILE.jsonl the FILE.semantic.json of `semantic`, where there is one.
Prints a Markdown table a set: hit@1, hit@5 and all@5 (docs/evaluation.md) in percent, and for each method the
difference from the fused order in points with its paired bootstrap 95 % interval (questions drawn with
replacement, the same draws for both sides; 2,000 resamples), the questions won and lost, and the probability
of so uneven a split by chance (exact sign test, two-sided: with few questions that differ, a percentile
interval is too narrow). "*" marks an interval without 0. Methods without a fitted number are judged
everywhere; fitted ones out of fold on the first set (folds are topics), and fitted to the whole first set
on the others.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from benchmarks.light_reranker import lexical, semantic
from benchmarks.light_reranker.methods import (
    PENALTIES,
    Order,
    Table,
    by_score,
    fit_listwise,
    fused,
    learned_table,
    out_of_fold,
    tuned_fusion,
)
from benchmarks.light_reranker.records import Found, read_records
from evaluation.bootstrap import mean

# Fixed fusions: the fused order and these columns, all of equal weight.
FUSIONS = (
    ("window_bm25",),
    ("window_coverage",),
    ("parent_bm25",),
    ("parent_bm25_own_idf",),
    ("parent_coverage",),
    ("numbers",),
    ("parent_bm25", "window_bm25"),
    ("parent_bm25_own_idf", "window_bm25"),
    ("parent_bm25", "window_bigrams"),
    ("parent_bm25", "window_bm25", "window_bigrams"),
    ("child_dense", "child_bm25"),
    ("sentence_cosine",),
    ("maxsim_segment",),
    ("maxsim_idf_segment",),
    ("parent_bm25", "sentence_cosine"),
    ("parent_bm25", "maxsim_idf_segment"),
)
# Columns whose weights the tuned fusion chooses; more would only fit the noise of 68 questions.
TUNED = ("parent_bm25", "window_bm25", "window_bigrams")


@dataclass(frozen=True)
class Bench:
    """A question set with the features of its questions' first parents; `columns` names them."""

    name: str
    records: Sequence[Found]
    columns: tuple[str, ...]
    tables: Sequence[Table]
    milliseconds: float

    def pick(self, names: Sequence[str]) -> list[Table] | None:
        """These columns of every table; None when one is missing."""
        if not set(names) <= set(self.columns):
            return None
        at = [self.columns.index(name) for name in names]
        return [table[:, at] for table in self.tables]

    def outcome(self, number: int, order: Order) -> tuple[float, float, float]:
        """hit@1, hit@5, all@5 of one question, each 0 or 1."""
        record = self.records[number]
        held = [record.parents[place].holds for place in order[:5]]
        return (
            float(bool(held) and bool(held[0])),
            float(any(held)),
            float(len(frozenset().union(*held)) == record.evidence),
        )


def load(path: Path, parents: int) -> Bench:
    """Reads a set and computes its features."""
    records = [record for record in read_records(path) if record.parents]
    started = time.process_time()
    tables = [np.array(lexical.lexical_features(record, parents)) for record in records]
    milliseconds = (time.process_time() - started) * 1000 / len(records)
    columns = [*lexical.FEATURES, "child_dense", "child_bm25"]
    tables = [np.column_stack([t, _child_scores(r, parents)]) for t, r in zip(tables, records, strict=True)]
    beside = path.with_suffix(".semantic.json")
    if beside.exists():
        rows = json.loads(beside.read_text(encoding="utf-8"))
        if all(len(rows[record.id]) == len(table) for record, table in zip(records, tables, strict=True)):
            columns += semantic.FEATURES
            tables = [
                np.column_stack([table, np.array(rows[record.id])])
                for record, table in zip(records, tables, strict=True)
            ]
    return Bench(path.stem, records, tuple(columns), tables, milliseconds)


def _child_scores(record: Found, parents: int) -> Table:
    """Best dense and BM25 score of the parent's children; below every found one where no leg found it."""
    return np.array(
        [
            [
                max((child.dense for child in parent.children if child.dense is not None), default=-1.0),
                max((child.bm25 for child in parent.children if child.bm25 is not None), default=-1.0),
            ]
            for parent in record.parents[:parents]
        ]
    )


def unfitted(bench: Bench) -> Iterator[tuple[str, list[Order]]]:
    """Methods in which no number was fitted to any question."""
    for column in bench.columns:
        (tables,) = (bench.pick([column]),)
        assert tables is not None
        yield f"{column} alone", [by_score(table[:, 0]) for table in tables]
    for names in FUSIONS:
        if (tables := bench.pick(names)) is not None:
            yield f"RRF of rank, {', '.join(names)}", [fused(table, [1.0] * len(names)) for table in tables]


def fitted(dev: Bench, bench: Bench) -> Iterator[tuple[str, list[Order]]]:
    """Methods fitted to `dev`: out of fold on `dev` itself."""
    tables, others = dev.pick(TUNED), bench.pick(TUNED)
    assert tables is not None
    assert others is not None

    @cache
    def gain_of(number: int, order: tuple[int, ...]) -> float:
        return sum(dev.outcome(number, list(order))[1:])

    def gain(number: int, order: Order) -> float:
        return gain_of(number, tuple(order))

    def fit_fusion(training: list[int]) -> Callable[[int], Order]:
        weights = tuned_fusion(tables, gain, training)
        return lambda number: fused(others[number], weights)

    plain = dict(unfitted(dev))
    there = dict(unfitted(bench))

    def choose(training: list[int]) -> Callable[[int], Order]:
        gains = {
            name: sum(gain(at, orders[at]) for at in training)
            for name, orders in plain.items()
            if name in there
        }
        best = there[max(gains, key=lambda name: gains[name])]
        return lambda number: best[number]

    yield "the best of the above on the other folds", _judged(dev, bench, choose)
    yield f"tuned RRF of rank, {', '.join(TUNED)}", _judged(dev, bench, fit_fusion)
    shared = [name for name in dev.columns if name in bench.columns]
    for title, names in (
        ("words", [*lexical.FEATURES]),
        ("words and retrieval scores", [*lexical.FEATURES, "child_dense", "child_bm25"]),
        ("all", shared),
    ):
        if title == "all" and "sentence_cosine" not in shared:
            continue
        yield f"learned: {title}", _judged(dev, bench, _listwise(dev, bench, names))


def _judged(dev: Bench, bench: Bench, fit: Callable[[list[int]], Callable[[int], Order]]) -> list[Order]:
    if bench is dev:
        return out_of_fold([record.fold for record in dev.records], fit)
    apply = fit(list(range(len(dev.records))))
    return [apply(number) for number in range(len(bench.records))]


def _listwise(
    dev: Bench, bench: Bench, names: Sequence[str]
) -> Callable[[list[int]], Callable[[int], Order]]:
    own, others = dev.pick(names), bench.pick(names)
    assert own is not None
    assert others is not None
    tables = [learned_table(table) for table in own]
    judged = [learned_table(table) for table in others]
    relevant = [
        np.array([bool(parent.holds) for parent in record.parents[: len(table)]])
        for record, table in zip(dev.records, tables, strict=True)
    ]

    @cache
    def weights(training: tuple[int, ...], penalty: float) -> Table:
        return fit_listwise([tables[at] for at in training], [relevant[at] for at in training], penalty)

    def fit(training: list[int]) -> Callable[[int], Order]:
        folds = [dev.records[at].fold for at in training]

        def inner_gain(penalty: float) -> float:
            total = 0.0
            for fold in sorted(set(folds)):
                inner = tuple(at for at, name in zip(training, folds, strict=True) if name != fold)
                found = weights(inner, penalty)
                held_out = (at for at, name in zip(training, folds, strict=True) if name == fold)
                total += sum(sum(dev.outcome(at, by_score(tables[at] @ found))[1:]) for at in held_out)
            return total

        chosen = weights(tuple(training), max(PENALTIES, key=inner_gain))
        return lambda number: by_score(judged[number] @ chosen)

    return fit


def report(dev: Bench, bench: Bench) -> Iterator[str]:
    """A Markdown table."""
    none = np.array([bench.outcome(at, list(range(len(t)))) for at, t in enumerate(bench.tables)])
    yield f"\n### {bench.name}: {len(bench.records)} questions\n"
    yield f"Features by words: {bench.milliseconds:.0f} ms of CPU a question.\n"
    yield "| method | hit@1 | hit@5 | all@5 | Δ hit@1 | Δ hit@5 | Δ all@5 |"
    yield "|---|---|---|---|---|---|---|"
    yield f"| none | {' | '.join(f'{100 * value:.1f}' for value in none.mean(axis=0))} | | | |"
    for name, orders in (*unfitted(bench), *fitted(dev, bench)):
        outcomes = np.array([bench.outcome(at, order) for at, order in enumerate(orders)])
        cells = [f"{100 * value:.1f}" for value in outcomes.mean(axis=0)]
        cells += [_difference((outcomes - none)[:, column].tolist()) for column in range(3)]
        yield f"| {name} | {' | '.join(cells)} |"


def _difference(values: list[float]) -> str:
    ratio = mean(values)
    value, interval = ratio.value(), ratio.interval()
    assert value is not None
    assert interval is not None
    low, high = interval
    won, lost = sum(item > 0 for item in values), sum(item < 0 for item in values)
    star = " *" if low > 0 or high < 0 else ""
    interval_text = f"{100 * low:+.1f} to {100 * high:+.1f}"
    return f"{100 * value:+.1f} ({interval_text}; {won}:{lost}, p {_sign_test(won, lost):.2f}){star}"


def _sign_test(won: int, lost: int) -> float:
    """Two-sided probability of a split at least so uneven when either outcome is as likely."""
    total = won + lost
    tail = sum(math.comb(total, fewer) for fewer in range(min(won, lost) + 1))
    return min(1.0, tail / 2.0 ** (total - 1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--dev", type=Path, required=True, help="the set that methods are fitted to")
    parser.add_argument("others", type=Path, nargs="*", help="sets that are only judged")
    parser.add_argument("--parents", type=int, default=13, help="parents that are reranked, 2-1000")
    options = parser.parse_args()
    dev = load(options.dev, options.parents)
    for bench in (dev, *(load(path, options.parents) for path in options.others)):
        for line in report(dev, bench):
            print(line, flush=True)


if __name__ == "__main__":
    main()
