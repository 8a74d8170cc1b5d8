"""A question set through every row."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

from benchmarks.retrieval_ablation import product_rows
from benchmarks.retrieval_ablation.analyses import indexed_text
from benchmarks.retrieval_ablation.ask import OpenIndex, ask_rows
from benchmarks.retrieval_ablation.corpus import Corpus
from benchmarks.retrieval_ablation.prepare import Prepared, prepare
from benchmarks.retrieval_ablation.product_rows import ProductRow
from benchmarks.retrieval_ablation.restage import stage_corpus
from benchmarks.retrieval_ablation.results import Row, SetResult
from benchmarks.retrieval_ablation.run_trials import (
    TYPOS,
    agreement,
    expanded_questions,
    trial_rows_of,
    typo_rows_of,
)
from retrieval_svc.settings import RetrievalSettings

# Chosen before any figure was seen; printed beside the rows.
_TYPO_SEED = 6


@dataclass(frozen=True, slots=True)
class Options:
    """How to measure.

    Attributes:
        cache_dir: of the embedder's converted weights.
        work: an empty folder for indexes; a corpus of 6,000 children takes 65 MB an index.
        rounds: timed ones, >= 1.
        note: told what is done now.
    """

    cache_dir: Path
    work: Path
    rounds: int
    note: Callable[[str], None]


def measure_all(data_dir: Path, questions: Path, options: Options) -> SetResult:
    """Every row of a set.

    Raises:
        RadrefError: the index or the set cannot be read, or a search failed.
    """
    rows = [*product_rows.steps(), *product_rows.changes(), *product_rows.other_indexes()]
    return asyncio.run(_measure(data_dir, questions, rows, options, trials=True))


def measure_profiles(data_dir: Path, questions: Path, options: Options) -> SetResult:
    """`paper`, RRF over all collections and `default` only; raises as `measure_all`."""
    steps = {row.name: row for row in product_rows.steps()}
    rows = [
        steps[name] for name in (product_rows.PAPER_ROW, product_rows.ONE_LIST_ROW, product_rows.BASE_ROW)
    ]
    return asyncio.run(_measure(data_dir, questions, rows, options, trials=False))


async def _measure(
    data_dir: Path, questions: Path, rows: Sequence[ProductRow], options: Options, *, trials: bool
) -> SetResult:
    options.note(f"{questions.name}: reading the index, embedding the questions")
    prepared = await prepare(
        data_dir, questions, cache_dir=options.cache_dir, work=options.work, typo_seed=_TYPO_SEED
    )
    base_row = next(row for row in rows if row.name == product_rows.BASE_ROW)
    topics = RetrievalSettings().collections
    root = options.work / questions.stem
    async with AsyncExitStack() as stack:
        indexes = {}
        for analysis in dict.fromkeys(row.analysis for row in rows):
            indexes[analysis] = await _open(stack, root / analysis, prepared.corpus, analysis, options)
        options.note(f"asking {len(rows)} rows of the product")
        answers = await ask_rows(
            rows, indexes, prepared.asked, prepared.vectors, topics, rounds=options.rounds
        )
        found = [Row(row.group, row.name, answers[row].ranks, answers[row].milliseconds) for row in rows]
        base = found[rows.index(base_row)]
        notes = [
            f"Processor time of `default` without embedding, median: {answers[base_row].milliseconds:.1f} ms."
        ]
        if trials:
            options.note("trials")
            found += trial_rows_of(prepared, options.note)
            for name, asked in (
                ("default, mistyped", prepared.typed),
                ("default, mistyped and put right", prepared.typed_corrected),
                ("default, without errors, put right", prepared.asked_corrected),
            ):
                again = await ask_rows([base_row], indexes, asked, prepared.vectors, topics, rounds=1)
                found.append(Row(TYPOS, name, again[base_row].ranks))
            found += typo_rows_of(prepared)
            notes += _notes(prepared, answers[base_row].returned)
    shutil.rmtree(root)
    documents = prepared.corpus.documents
    return SetResult(
        name=questions.name,
        documents=len(documents),
        parents=len(prepared.corpus.parents),
        children=sum(len(document.children) for document in documents),
        asked=prepared.asked,
        rows=found,
        base=base,
        notes=notes,
    )


async def _open(
    stack: AsyncExitStack, root: Path, corpus: Corpus, analysis: str, options: Options
) -> OpenIndex:
    started = time.perf_counter()
    text = indexed_text(analysis)
    generations = await stage_corpus(root, corpus, text, RetrievalSettings().collections)
    stack.push_async_callback(generations.close)
    options.note(f"index '{analysis}' staged in {time.perf_counter() - started:.0f} s")
    return OpenIndex(generations, text)


def _notes(prepared: Prepared, returned: Sequence[Sequence[str]]) -> Iterator[str]:
    total, query = len(prepared.asked), prepared.scores.text.query
    yield (
        f"The plain trial returns the same parents in the same order as the product on "
        f"{agreement(prepared, returned)} of {total} questions."
    )
    yield f"{expanded_questions(prepared)} questions name a form of the list of synonyms."
    right = sum(
        query(one.text) == query(other.text)
        for one, other in zip(prepared.asked, prepared.typed_corrected, strict=True)
    )
    changed = sum(
        one.text != other.text for one, other in zip(prepared.asked, prepared.asked_corrected, strict=True)
    )
    yield (
        f"Typing errors: seed {_TYPO_SEED}. Put right, {right} of {total} questions have the terms they had "
        f"without the error; {changed} questions without errors are changed."
    )
