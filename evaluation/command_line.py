"""What the commands of this package have in common: options, how they end, where results go."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from evaluation.results import result_json, write_text
from evaluation.system import Target, parse_target
from radref.errors import InvalidInput, RadrefError

FAILED = 1
WRONG_USE = 2
INTERRUPTED = 130

JsonOut = Annotated[
    Path | None,
    typer.Option(
        "--json", metavar="OUT", help="Write the result here; - = standard output, tables go to stderr then."
    ),
]


def chosen_target(values: Sequence[str], data_dir: Path | None) -> Target | None:
    """`--target`, which excludes `--data-dir`; None = a system of our own.

    Raises:
        InvalidInput: both are given, or no address.
    """
    target = parse_target(values)
    if target is not None and data_dir is not None:
        raise InvalidInput(
            "--data-dir belongs to the own system; it cannot be combined with --target", field="data-dir"
        )
    return target


def show(result: dict[str, Any], tables: Sequence[Table], json_out: Path | None, console: Console) -> None:
    """Writes the result to `json_out` and the tables to standard output, or to `console` where that is taken.

    Raises:
        InvalidInput: the place cannot be written.
    """
    text = result_json(result)
    to_stdout = str(json_out) == "-"
    if json_out is not None and not to_stdout:
        write_text(json_out, text)
    place = console if to_stdout else Console()
    for table in tables:
        place.print(table)
    if to_stdout:
        typer.echo(text, nl=False)


def run(measure: Callable[[], Coroutine[Any, Any, None]], console: Console) -> None:
    """Runs a measurement; errors become a message and an exit code, Ctrl-C and SIGTERM stop it in order."""

    async def guarded() -> None:
        task = asyncio.current_task()
        assert task is not None
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
        await measure()

    try:
        asyncio.run(guarded())
    except RadrefError as error:
        console.print(f"{error.reason}: {error.message}", markup=False, highlight=False, style="red")
        raise typer.Exit(WRONG_USE if isinstance(error, InvalidInput) else FAILED) from None
    except ModuleNotFoundError as error:
        console.print(
            f"this command needs the extra 'eval' (no module {error.name})", markup=False, style="red"
        )
        raise typer.Exit(WRONG_USE) from None
    except (KeyboardInterrupt, asyncio.CancelledError):
        console.print("Interrupted; nothing was written.")
        raise typer.Exit(INTERRUPTED) from None
