"""radref, Haystack and haiku.rag on the same documents with the same model, in one run. See docs/peers.md.

python -m evaluation.peers.compare --corpus DIR --questions FILE --work DIR --radref PYTHON
python -m evaluation.peers.compare --target GATEWAY,INGEST --inference HOST:PORT --questions FILE --work DIR
"""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from evaluation.command_line import run
from evaluation.ingest_corpus import corpus_uploads
from evaluation.ingest_progress import ingest_with_progress
from evaluation.peers.embedding import ServiceEmbedder
from evaluation.peers.export import export_with_progress, with_evidence
from evaluation.peers.formats import Export, write_export
from evaluation.peers.line_up import Indexer
from evaluation.peers.measure import Measured, measure
from evaluation.peers.report import result, table
from evaluation.peers.systems import Radref, System
from evaluation.progress import progress_on
from evaluation.questions import Question, load_questions
from evaluation.results import file_fingerprint, result_json, write_text
from evaluation.stack import ephemeral_stack
from evaluation.system import parse_target
from radref.client import RadrefClient
from radref.errors import InvalidInput


@dataclass(frozen=True)
class Options:
    """Options of the comparison; see its help. Either `corpus`, or `target` and `inference`."""

    questions: Path
    work: Path
    corpus: Path | None
    radref: Path
    target: str | None
    inference: str | None
    rounds: int
    timeout: float


def main(
    questions: Annotated[Path, typer.Option(help="Question set, a JSON object a line.")],
    work: Annotated[Path, typer.Option(help="Folder for data, export, vectors, databases and results.")],
    corpus: Annotated[
        Path | None, typer.Option(help="Documents and manifest.jsonl, for an own system.")
    ] = None,
    radref: Annotated[
        Path, typer.Option(help="Python of an environment that has radref[embedded], for an own system.")
    ] = Path(sys.executable),
    target: Annotated[
        str | None, typer.Option(metavar="GATEWAY,INGEST", help="A running system instead of an own one.")
    ] = None,
    inference: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="Inference service of the running system.")
    ] = None,
    rounds: Annotated[int, typer.Option(min=1, max=100, help="Timed passes over the questions.")] = 3,
    timeout: Annotated[float, typer.Option(min=0.1, max=600, help="Seconds a call.")] = 60.0,
) -> None:
    """Compare retrieval; writes peers.json and peers.md into the work folder."""
    console = Console(stderr=True)
    # absolute(), not resolve(): the interpreter of an environment is a link.
    options = Options(
        questions, work.absolute(), corpus, radref.absolute(), target, inference, rounds, timeout
    )
    run(lambda: _compare(options, console), console)


async def _compare(options: Options, console: Console) -> None:
    asked = with_evidence(load_questions(options.questions))
    if not asked:
        raise InvalidInput(f"No question of {options.questions.name} has gold quotes", field="questions")
    async with _system(options, console) as (client, inference):
        exported = await export_with_progress(client, asked, timeout=options.timeout, console=console)
        write_export(options.work / "export", exported)
        with ServiceEmbedder(inference, options.work / "vectors.sqlite3") as embedder:
            indexer = Indexer(exported, embedder, options.work / "databases", console)
            async with indexer.peers() as peers:
                systems: list[System] = [Radref(client, exported.parents, options.timeout), *peers]
                measured = await _measure(systems, asked, options, console)
                outcome = _result(measured, asked, systems, embedder, _meta(options, exported))
    write_text(options.work / "peers.json", result_json(outcome))
    text = table(outcome)
    write_text(options.work / "peers.md", text)
    typer.echo(text)


@asynccontextmanager
async def _system(options: Options, console: Console) -> AsyncIterator[tuple[RadrefClient, str]]:
    """A client of the running system, or of an own one that holds the corpus; and the inference service."""
    if options.target is not None and options.inference is not None and options.corpus is None:
        addresses = parse_target([options.target])
        if addresses is None or addresses.ingest is None:
            raise InvalidInput(
                "--target needs the gateway's and the ingest service's address", field="target"
            )
        async with RadrefClient(gateway=addresses.gateway, ingest=addresses.ingest) as client:
            yield client, options.inference
        return
    if options.corpus is None or options.target is not None or options.inference is not None:
        raise InvalidInput("Give either --corpus (own system), or --target and --inference (running one)")
    uploads = corpus_uploads(options.corpus)
    data = options.work / "data"
    async with ephemeral_stack(data, command=(str(options.radref), "-m", "radref.cli.main", "up")) as own:
        # `radref up` leaves the addresses of all services in its data directory.
        inference = json.loads((data / "addresses.json").read_text(encoding="utf-8"))["inference"]
        async with RadrefClient(gateway=own.gateway, ingest=own.ingest) as client:
            await ingest_with_progress(client, uploads, window=8, console=console)
            yield client, inference


async def _measure(
    systems: list[System], asked: list[Question], options: Options, console: Console
) -> list[Measured]:
    with progress_on(console) as progress:
        bar = progress.add_task("Asking", total=options.rounds * len(asked))
        return await measure(systems, asked, rounds=options.rounds, on_done=lambda: progress.advance(bar))


def _meta(options: Options, exported: Export) -> dict[str, Any]:
    return {
        "export": exported.meta,
        "questions": file_fingerprint(options.questions),
        "settings": {"rounds": options.rounds, "concurrency": 1, "rerank": "off"},
    }


def _result(
    measured: list[Measured],
    asked: list[Question],
    systems: list[System],
    embedder: ServiceEmbedder,
    meta: dict[str, Any],
) -> dict[str, Any]:
    chunks: dict[str, dict[str, Any]] = {}
    tokens: dict[str, float | None] = {}
    for system, item in zip(systems, measured, strict=True):
        counts = sorted(embedder.tokens(system.pieces))
        chunks[system.label] = {
            "count": len(counts),
            "median_tokens": counts[len(counts) // 2] if counts else None,
            "max_tokens": counts[-1] if counts else None,
            "truncated": embedder.truncated(system.pieces),
        }
        sums = [sum(embedder.tokens(passages)) for passages in item.first_five]
        tokens[system.label] = sum(sums) / len(sums)
    embedder.keep()
    return result(measured, asked, chunks=chunks, passage_tokens=tokens, meta=meta)


if __name__ == "__main__":
    typer.run(main)
