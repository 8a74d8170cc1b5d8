"""The command `radref bench`. What needs numpy (extra `eval`) is imported when it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

import evaluation
from evaluation.command_line import JsonOut, chosen_target, run, show
from evaluation.system import Target
from radref.errors import InvalidInput

# Beside the packages in a checkout; an installation has no samples.
SAMPLE_QUESTIONS = Path(evaluation.__file__).parent.parent / "samples" / "qa.jsonl"


def bench(
    target: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="Gateway of a running system.")
    ] = None,
    questions: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Question set, a JSON object a line. Default: the samples of the checkout."
        ),
    ] = None,
    concurrency: Annotated[int, typer.Option(min=1, max=256, help="Calls in flight.")] = 1,
    seconds: Annotated[float, typer.Option(min=1, max=3600, help="How long to measure.")] = 30,
    warmup: Annotated[float, typer.Option(min=0, max=600, help="Seconds before that, in no figure.")] = 5,
    timeout: Annotated[float, typer.Option(min=0.1, max=600, help="Seconds a call.")] = 15,
    json_out: JsonOut = None,
    data_dir: Annotated[
        Path | None,
        typer.Option(
            "--data-dir",
            exists=True,
            file_okay=False,
            help="An indexed knowledge base (of radref up): an own system is started on it.",
        ),
    ] = None,
) -> None:
    """Load on Search: percentiles end to end and by stage, throughput, overhead.

    So many workers ask the questions round and round in a seeded order, each
    its next one as soon as it has its answer. Give --target or --data-dir. More
    than 5 % failed calls end the run.

    overhead_ratio is the time of Search, as this client sees it, divided by the
    time that the models (embedding, reranking) worked and the vector store's
    engine searched for it. 1.25 means: everything else adds a quarter. That is gRPC
    and network of all hops, the services' own code, fusion, the look-up of
    parents, waiting for a turn, and this client itself, which takes its share
    of the cores where it runs beside the services. Work done at the same time
    is added up. With --concurrency 1 it says what radref costs a lone question;
    with more it is mostly waiting.
    """
    console = Console(stderr=True)

    async def measure() -> None:
        from evaluation.bench.measure import BenchOptions, measure_bench
        from evaluation.bench.table import bench_table

        options = BenchOptions(
            target=_gateway(target, data_dir),
            data_dir=data_dir,
            question_set=_question_set(questions),
            concurrency=concurrency,
            seconds=seconds,
            warmup=warmup,
            timeout=timeout,
        )
        result = await measure_bench(options, console)
        show(result, [bench_table(result)], json_out, console)

    run(measure, console)


def _gateway(address: str | None, data_dir: Path | None) -> Target | None:
    target = chosen_target([address] if address else [], data_dir)
    if target is None and data_dir is None:
        raise InvalidInput(
            "name the system: --target HOST:PORT, or --data-dir DIR with an indexed knowledge base"
        )
    if target is not None and target.ingest is not None:
        raise InvalidInput("--target takes one address here, the gateway's", field="target")
    return target


def _question_set(path: Path | None) -> Path:
    if path is not None:
        return path
    if not SAMPLE_QUESTIONS.is_file():
        raise InvalidInput(
            "there are no sample questions in this installation: name a question set with --questions",
            field="questions",
        )
    return SAMPLE_QUESTIONS
