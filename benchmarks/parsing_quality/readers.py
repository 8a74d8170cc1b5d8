"""Ways to parse a file: in a parser process of this program, or by the `radref` command."""

from __future__ import annotations

import asyncio
import json
import re
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from ingest_svc.document import render
from ingest_svc.parsing.worker import ParserPool
from radref.errors import RadrefError

_REASON = re.compile(r"\b[A-Z]+(?:_[A-Z0-9]+)+\b")


@dataclass(frozen=True, slots=True)
class Reading:
    """What came of one file.

    Attributes:
        markdown: the text, "" when it was refused.
        parser: what read it.
        refused: reason of the refusal, "" when there is none.
        message: what the user is told then.
        warnings: what the report warns of.
        seconds: wall time.
    """

    markdown: str
    parser: str
    refused: str
    message: str
    warnings: tuple[str, ...]
    seconds: float


Reader = Callable[[Path], Awaitable[Reading]]


def pool_reader(pool: ParserPool) -> Reader:
    """Parses with the pool's limits in its worker process."""

    async def read(file: Path) -> Reading:
        start = time.monotonic()
        try:
            document = await pool.parse(file, file.name)
        except RadrefError as exc:
            return Reading("", "", exc.reason, str(exc), (), time.monotonic() - start)
        report = document.report
        markdown, _ = render(document.blocks)
        return Reading(markdown, report.parser, "", "", report.warnings, time.monotonic() - start)

    return read


def command_reader(program: str) -> Reader:
    """Parses with `PROGRAM parse FILE`, as a curator does; the services must run."""

    async def read(file: Path) -> Reading:
        start = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            report_file = Path(folder) / "report.json"
            process = await asyncio.create_subprocess_exec(
                program, "parse", str(file), "--report", str(report_file),
                stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
            )  # fmt: skip
            try:
                output, errors = await process.communicate()
            except asyncio.CancelledError:
                process.kill()
                await process.wait()
                raise
            seconds = time.monotonic() - start
            if process.returncode != 0:
                message = " ".join(errors.decode("utf-8", "replace").split())
                reason = _REASON.search(message)
                return Reading("", "", reason.group() if reason else "FAILED", message, (), seconds)
            report = json.loads(report_file.read_text("utf-8"))
        markdown = output.decode("utf-8").removesuffix("\n")
        return Reading(markdown, report.get("parser", ""), "", "", tuple(report.get("warnings", ())), seconds)

    return read
