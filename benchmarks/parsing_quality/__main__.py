"""How well files are parsed: text, headings and tables against expected output.

    python -m benchmarks.parsing_quality ../shared/data/parsers --update docs/parsing.md

Every file below the folder is parsed in a worker process with limits, or with `--radref PROGRAM` by the
`radref parse` command (the services must run). Figures and matching are defined in docs/parsing.md. Prints
the table; `--update` writes it between the markers of a Markdown document, `--out` keeps what was made of
each file for reading.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path

from benchmarks.parsing_quality.measure import FileResult, measure
from benchmarks.parsing_quality.readers import command_reader, pool_reader
from benchmarks.parsing_quality.report import markdown_table, replaced, summary
from ingest_svc.parsing.limits import ParseLimits
from ingest_svc.parsing.worker import ParserPool


def main() -> int:
    """Runs the measurement; exit code 1 when the folder holds no file to parse."""
    arguments = _arguments()
    results = asyncio.run(_run(arguments))
    if not results:
        print(f"no file to parse in {arguments.folder}", file=sys.stderr)
        return 1
    table = markdown_table(results)
    print(table)
    print(summary(results))
    if arguments.update is not None:
        document = arguments.update.read_text("utf-8")
        arguments.update.write_text(replaced(document, table), encoding="utf-8")
    return 0


async def _run(arguments: argparse.Namespace) -> list[FileResult]:
    def seen(result: FileResult) -> None:
        print(f"{result.name}: {result.verdict()}", file=sys.stderr, flush=True)
        if arguments.out is not None:
            _keep(arguments.out, result)

    if arguments.radref:
        return await measure(arguments.folder, command_reader(arguments.radref), arguments.only, seen)
    pool = ParserPool(ParseLimits(timeout_seconds=arguments.timeout))
    try:
        await pool.check()
        return await measure(arguments.folder, pool_reader(pool), arguments.only, seen)
    finally:
        await pool.close()


def _keep(folder: Path, result: FileResult) -> None:
    target = folder / f"{result.name}.md"
    target.parent.mkdir(parents=True, exist_ok=True)
    reading = result.reading
    text = reading.markdown or f"{reading.refused}: {reading.message}"
    warnings = "".join(f"<!-- warning: {warning} -->\n" for warning in reading.warnings)
    target.write_text(f"{warnings}{text}\n", encoding="utf-8")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="parsing_quality", description=__doc__)
    parser.add_argument("folder", type=Path, help="files, with expected output beside them")
    parser.add_argument("--only", default="", help="only files whose path holds this")
    parser.add_argument("--radref", default="", metavar="PROGRAM", help="parse with this radref command")
    parser.add_argument("--timeout", type=float, default=300.0, help="seconds for one file in the worker")
    parser.add_argument("--update", type=Path, help="Markdown document to write the table into")
    parser.add_argument("--out", type=Path, help="folder for the Markdown of each file")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
