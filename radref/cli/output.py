"""Where the CLI writes: results to standard output, everything else to standard error."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from typing import Any

from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message
from rich.console import Console
from rich.table import Table

from radref.errors import RadrefError

out = Console(highlight=False, soft_wrap=True)
# Characters; wider than any table.
UNLIMITED = 100_000
err = Console(stderr=True, highlight=False, soft_wrap=True)


def problem(message: str) -> None:
    err.print(f"error: {message}", style="red", markup=False)


def explain(error: RadrefError) -> None:
    """An error with its reason and, where the service gave one, the request id."""
    request = error.metadata.get("request_id", "")
    suffix = f" (request {request})" if request else ""
    problem(f"{error.reason}: {error.message}{suffix}")
    if error.reason == "BACKEND_UNAVAILABLE":
        err.print("Is it running? Start it with: radref up", markup=False)


def show_table(console: Console, table: Table) -> None:
    """Fits a terminal; elsewhere (a pipe, a file) no cell is broken over lines, so that ids can be found."""
    if console.is_terminal:
        console.print(table)
        return
    wide = Console(file=console.file, width=UNLIMITED, highlight=False, soft_wrap=True)
    wide.print(table)


def print_json(message: Message, *, complete: bool = False) -> None:
    """`complete`: zeros and empty lists are printed too, so that programs need not ask for each field."""
    _write_json(_plain(message, complete))


def print_json_lists(lists: Mapping[str, Iterable[Message]]) -> None:
    """One object of lists of messages, complete."""
    _write_json({name: [_plain(message, True) for message in messages] for name, messages in lists.items()})


def _plain(message: Message, complete: bool) -> dict[str, Any]:
    return MessageToDict(
        message, preserving_proto_field_name=True, always_print_fields_with_no_presence=complete
    )


def _write_json(value: object) -> None:
    sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=2) + "\n")
