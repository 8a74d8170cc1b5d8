"""`radref up`: the four services on loopback until Ctrl-C."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer
from rich.table import Table

from radref.cli.output import out, problem
from radref.cli.paths import addresses_file, default_data_dir
from radref.cli.stack import MODULES, Stack, StackError


class _Stop(Exception):
    pass


def up(
    data_dir: Annotated[Path | None, typer.Option(help="Where everything is kept.")] = None,
    config: Annotated[Path | None, typer.Option(help="Settings file (YAML) for the services.")] = None,
    ports_file: Annotated[Path | None, typer.Option(help="Also write the addresses here (JSON).")] = None,
    review: Annotated[bool, typer.Option("--review", help="Uploads wait for a reviewer.")] = False,
    parent_pid: Annotated[int | None, typer.Option(help="Stop when this process is gone.")] = None,
) -> None:
    """Start the four services on this machine, print their addresses, stop on Ctrl-C."""
    directory = (data_dir or default_data_dir()).absolute()
    stack = Stack(directory, config, trust_uploads=not review)
    written = [addresses_file(directory), *([ports_file] if ports_file else [])]
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _raise_stop)
    code = 0
    serving = False
    try:
        stack.start()
        out.print(f"starting in {directory} ...")
        stack.wait_until_serving()
        for path in written:
            stack.addresses.write(path)
        serving = True
        _announce(stack, trusted=not review)
        while parent_pid is None or os.getppid() == parent_pid:
            for event in stack.supervise_once():
                out.print(event, style="yellow")
            time.sleep(0.2)
    except _Stop:
        out.print("stopping ...")
    except StackError as exc:
        problem(str(exc))
        code = 1
    finally:
        # From here a second Ctrl-C must not leave processes behind.
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
        stack.stop()
        # Only our own: another stack may run on this directory.
        for path in written if serving else ():
            with contextlib.suppress(FileNotFoundError):
                path.unlink()
    if code:
        raise typer.Exit(code)
    out.print("stopped")


def _raise_stop(number: int, frame: FrameType | None) -> None:
    raise _Stop


def _announce(stack: Stack, *, trusted: bool) -> None:
    table = Table(title="radref is up")
    for column in ("service", "address", "pid", "log"):
        table.add_column(column, overflow="fold")
    pids = stack.pids()
    for name in reversed(MODULES):
        table.add_row(name, getattr(stack.addresses, name), str(pids[name]), str(stack.log_path(name)))
    out.print(table)
    out.print(f"REST: http://{stack.addresses.rest}/v1 (described at /openapi.json)")
    if trusted:
        out.print(
            "Uploads are trusted: they are indexed WITHOUT REVIEW. Start with --review to change that.",
            style="bold yellow",
        )
    out.print(
        "For this machine only, and without TLS and access control unless the settings file turns them on. "
        "Next: radref ingest PATH, radref ask QUESTION."
    )
    out.print("Ctrl-C stops everything.")
