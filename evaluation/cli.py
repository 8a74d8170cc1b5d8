"""`radref eval`: measures a system through its public API.

numpy and ir-measures (extra `eval`) are imported inside the commands: they take half a second, which every
other `radref` command would pay, and may be absent.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from evaluation.command_line import JsonOut, chosen_target, run, show
from evaluation.datasets import XquadLanguage
from evaluation.retrieval_run import Leg
from evaluation.tables import qa_tables, retrieval_table
from radref.errors import InvalidInput

app = typer.Typer(
    help="Measure a system through its public API: its own ephemeral one, or a running one (--target).",
    no_args_is_help=True,
)

DataDir = Annotated[
    Path | None,
    typer.Option(
        "--data-dir",
        file_okay=False,
        help="Where the own system keeps its index between runs. Default: thrown away.",
    ),
]
TargetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--target",
        metavar="HOST:PORT[,HOST:PORT]",
        help="A running system: its gateway, and its ingest service when documents are to be uploaded.",
    ),
]
Concurrency = Annotated[
    int,
    typer.Option(min=1, max=256, help="Calls in flight. Latencies are those of an idle system with 1 only."),
]
Window = Annotated[int, typer.Option(min=1, max=256, help="Uploads in flight.")]
Timeout = Annotated[float, typer.Option(min=0.1, max=600, help="Seconds a call.")]


@app.command()
def qa(
    corpus: Annotated[Path, typer.Option(help="Folder with documents and manifest.jsonl.")],
    question_set: Annotated[Path, typer.Option("--set", help="Question set, a JSON object a line.")],
    data_dir: DataDir = None,
    target: TargetOption = None,
    json_out: JsonOut = None,
    details: Annotated[
        Path | None,
        typer.Option(help="Write one JSON object a question here (no text of questions or answers)."),
    ] = None,
    concurrency: Concurrency = 1,
    window: Window = 8,
    timeout: Timeout = 60.0,
) -> None:
    """Evidence found, facts, citations and abstentions on a question set."""
    console = Console(stderr=True)

    async def measure() -> None:
        from evaluation.qa_command import QaOptions, measure_qa, write_details

        options = QaOptions(
            corpus=corpus,
            question_set=question_set,
            data_dir=data_dir,
            target=chosen_target(target or (), data_dir),
            concurrency=concurrency,
            window=window,
            timeout=timeout,
        )
        result, observations = await measure_qa(options, console)
        if details is not None:
            write_details(details, observations)
        show(result, qa_tables(result), json_out, console)

    run(measure, console)


@app.command()
def calibrate(
    corpus: Annotated[Path, typer.Option(help="Folder with documents and manifest.jsonl.")],
    question_set: Annotated[
        Path, typer.Option("--set", help="Question set with answerable and unanswerable questions.")
    ],
    out: Annotated[Path | None, typer.Option(help="Write the settings for gateway.gate here (YAML).")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the trade-off here (SVG).")] = None,
    max_false_abstention: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1,
            help="Share of answerable questions the bound may refuse. Default: only what lies four standard "
            "deviations below the answerable ones.",
        ),
    ] = None,
    data_dir: DataDir = None,
    target: TargetOption = None,
    json_out: JsonOut = None,
    concurrency: Concurrency = 1,
    window: Window = 8,
    timeout: Timeout = 60.0,
) -> None:
    """Fit the evidence gate: what each bound refuses wrongly against what it lets pass wrongly."""
    console = Console(stderr=True)

    async def measure() -> None:
        from evaluation.calibration.command import CalibrateOptions, calibration_table
        from evaluation.calibration.command import calibrate as fit
        from evaluation.results import write_text

        options = CalibrateOptions(
            corpus=corpus,
            question_set=question_set,
            data_dir=data_dir,
            target=chosen_target(target or (), data_dir),
            max_false_abstention=max_false_abstention,
            concurrency=concurrency,
            window=window,
            timeout=timeout,
        )
        calibration = await fit(options, console)
        if out is not None:
            write_text(out, calibration.thresholds)
        if plot is not None:
            write_text(plot, calibration.plot)
        show(calibration.result, [calibration_table(calibration)], json_out, console)
        if out is None:
            console.print(calibration.thresholds, markup=False, highlight=False)

    run(measure, console)


@app.command()
def consult(
    kb: Annotated[Path, typer.Option(help="Knowledge base of variants, YAML, appropriateness-kb/2.")],
    scenario_set: Annotated[
        Path, typer.Option("--set", help="Scenarios and probes, YAML, appropriateness-eval/1.")
    ],
    runs: Annotated[
        int, typer.Option(min=1, max=100, help="Ask the set so often; the figures are of the first run.")
    ] = 1,
    profile: Annotated[
        str | None,
        typer.Option(
            help="default or paper: how the own system consults. With --target only a label in the result."
        ),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw what the evidence gate does at each threshold here (SVG).")
    ] = None,
    data_dir: DataDir = None,
    target: TargetOption = None,
    json_out: JsonOut = None,
    timeout: Timeout = 60.0,
) -> None:
    """Right variants, refused probes and citations of Consult on a set of scenarios."""
    console = Console(stderr=True)

    async def measure() -> None:
        from evaluation.consult.command import ConsultOptions, measure_consult
        from evaluation.consult.tables import consult_tables
        from evaluation.results import write_text

        options = ConsultOptions(
            kb=kb,
            scenario_set=scenario_set,
            runs=runs,
            profile=profile,
            data_dir=data_dir,
            target=chosen_target(target or (), data_dir),
            timeout=timeout,
        )
        measured = await measure_consult(options, console)
        if plot is not None:
            write_text(plot, measured.plot)
        show(measured.result, consult_tables(measured.result), json_out, console)

    run(measure, console)


@app.command()
def retrieval(
    dataset: Annotated[Path, typer.Option(help="Folder in BEIR form, or XQuAD with xquad.LANGUAGE.json.")],
    legs: Annotated[
        str, typer.Option(help="Comma-separated: " + ", ".join(leg.value for leg in Leg) + ".")
    ] = ",".join(leg.value for leg in Leg),
    passages: Annotated[
        str, typer.Option(help="Language of the passages: en or ru (for BEIR: of the documents).")
    ] = "en",
    questions: Annotated[str, typer.Option(help="Language of the questions, XQuAD only: en or ru.")] = "en",
    topic: Annotated[str, typer.Option(help="Collection that takes the documents.")] = "anatomy",
    data_dir: DataDir = None,
    target: TargetOption = None,
    json_out: JsonOut = None,
    concurrency: Concurrency = 1,
    window: Window = 16,
    timeout: Timeout = 60.0,
) -> None:
    """nDCG@10, recall@100 and MRR@10 of each search leg on a retrieval data set."""
    console = Console(stderr=True)

    async def measure() -> None:
        from evaluation.retrieval_command import RetrievalOptions, measure_retrieval

        options = RetrievalOptions(
            dataset=dataset,
            passages=_language(passages, "passages"),
            questions=_language(questions, "questions"),
            legs=_legs(legs),
            topic=topic,
            data_dir=data_dir,
            target=chosen_target(target or (), data_dir),
            concurrency=concurrency,
            window=window,
            timeout=timeout,
        )
        result = await measure_retrieval(options, console)
        show(result, [retrieval_table(result)], json_out, console)

    run(measure, console)


def _legs(text: str) -> tuple[Leg, ...]:
    try:
        legs = tuple(dict.fromkeys(Leg(name.strip()) for name in text.split(",") if name.strip()))
    except ValueError:
        legs = ()
    if not legs:
        raise InvalidInput("--legs takes one or more of " + ", ".join(leg.value for leg in Leg), field="legs")
    return legs


def _language(text: str, option: str) -> XquadLanguage:
    if text == "en":
        return "en"
    if text == "ru":
        return "ru"
    raise InvalidInput(f"--{option} takes en or ru", field=option)
