"""Asks a built index and times it: latency, memory, and what was found, for `exact` to judge."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.store_scale.hybrid import Answer, StoreQuestion, ask_default, ask_paper
from benchmarks.store_scale.process import Memory, resident
from retrieval_svc.store.edge.generations import EdgeGenerations
from retrieval_svc.store.protocol import VectorStore

FOUND = 10
# Parents that a question's answer is made from.
_PARENTS = 13


@dataclass(frozen=True, slots=True)
class Latency:
    """Of the hybrid query of one profile, in milliseconds.

    Attributes:
        searches: mean of a question.
        cpu_p50: processor time of the process, which other load on the machine does not change.
        engine_p50: sum over the searches, without waiting for each other.
    """

    questions: int
    searches: float
    p50: float
    p95: float
    cpu_p50: float
    cpu_p95: float
    engine_p50: float


@dataclass(frozen=True, slots=True)
class Found:
    """What one question found: the first FOUND of each kind.

    Attributes:
        dense: (parent number, ordinal) of the children, best cosine first, over all topics; by language.
        whole: the same without languages.
        parents: BM25 scores of parents. children: of children, by topic.
    """

    dense: tuple[tuple[int, int], ...]
    whole: tuple[tuple[int, int], ...]
    parents: tuple[float, ...]
    children: Mapping[str, tuple[float, ...]]


@dataclass(frozen=True, slots=True)
class Measured:
    """Of one index.

    Attributes:
        open_seconds: until the store answers.
        opened: memory that opening took. asked: what it had grown to after all questions.
        parents_ms: median of reading the 13 parents of an answer, milliseconds.
    """

    open_seconds: float
    opened: Memory
    asked: Memory
    default: Latency
    paper: Latency
    parents_ms: float
    found: tuple[Found, ...]


@dataclass(frozen=True, slots=True)
class _Timed:
    """An answer, the seconds it took and the processor seconds."""

    answer: Answer
    seconds: float
    cpu_seconds: float


def measure(
    root: Path,
    questions: Sequence[StoreQuestion],
    languages: Mapping[str, Sequence[str]],
    *,
    warm_up: int,
    real_time: bool,
) -> Measured:
    """Asks every question once in each profile, one after the other.

    Args:
        languages: by topic.
        warm_up: the first questions, which are asked but not counted.
        real_time: ask at real-time priority, so that other load on the machine delays nothing.

    Raises:
        PermissionError: this user may not have that priority.
    """
    if real_time:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    return asyncio.run(_measure(root, questions, languages, warm_up))


async def _measure(
    root: Path, questions: Sequence[StoreQuestion], languages: Mapping[str, Sequence[str]], warm_up: int
) -> Measured:
    empty = resident()
    started = time.perf_counter()
    topics = sorted(languages)
    generations = EdgeGenerations(root, topics=topics, compact_after_changes=10**9)
    store = await generations.open("")
    try:
        await store.counts()
        open_seconds = time.perf_counter() - started
        opened = resident() - empty
        default = await _timed(questions, lambda question: ask_default(store, question, languages))
        paper = await _timed(questions, lambda question: ask_paper(store, question, topics))
        asked = resident() - empty
        reading = [await _read_parents(store, timed.answer) for timed in default]
    finally:
        await store.close()
        await generations.close()
    found = [_found(one.answer, two.answer) for one, two in zip(default, paper, strict=True)]
    return Measured(
        open_seconds=open_seconds,
        opened=opened,
        asked=asked,
        default=_latency(default[warm_up:]),
        paper=_latency(paper[warm_up:]),
        parents_ms=float(np.median(reading)) * 1000,
        found=tuple(found[warm_up:]),
    )


async def _timed(
    questions: Sequence[StoreQuestion], ask: Callable[[StoreQuestion], Awaitable[Answer]]
) -> list[_Timed]:
    answers = []
    for question in questions:
        started, used = time.perf_counter(), time.process_time()
        answer = await ask(question)
        answers.append(_Timed(answer, time.perf_counter() - started, time.process_time() - used))
    return answers


async def _read_parents(store: VectorStore, answer: Answer) -> float:
    keys = [hit.place.key for hit in answer.parents[:_PARENTS]]
    started = time.perf_counter()
    await store.parents(keys)
    return time.perf_counter() - started


def _latency(answers: Sequence[_Timed]) -> Latency:
    def percentiles(seconds: list[float]) -> list[float]:
        return [float(value) for value in np.percentile(seconds, [50, 95]) * 1000]

    p50, p95 = percentiles([timed.seconds for timed in answers])
    cpu_p50, cpu_p95 = percentiles([timed.cpu_seconds for timed in answers])
    return Latency(
        questions=len(answers),
        searches=float(np.mean([timed.answer.searches for timed in answers])),
        p50=p50,
        p95=p95,
        cpu_p50=cpu_p50,
        cpu_p95=cpu_p95,
        engine_p50=percentiles([timed.answer.engine_seconds for timed in answers])[0],
    )


def _found(default: Answer, paper: Answer) -> Found:
    return Found(
        dense=_best(default),
        whole=_best(paper),
        parents=tuple(hit.score for hit in default.parents[:FOUND]),
        children={topic: tuple(hit.score for hit in hits[:FOUND]) for topic, hits in paper.children.items()},
    )


def _best(answer: Answer) -> tuple[tuple[int, int], ...]:
    hits = sorted((hit for hits in answer.dense.values() for hit in hits), key=lambda hit: -hit.score)
    return tuple((int(hit.child.parent.citation_id, 16), hit.child.ordinal) for hit in hits[:FOUND])
