"""Where the CLI writes: results to standard output, everything else to standard error."""

from __future__ import annotations

import sys

from google.protobuf.json_format import MessageToJson
from google.protobuf.message import Message
from rich.console import Console

from radref.errors import RadrefError

out = Console(highlight=False, soft_wrap=True)
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


def print_json(message: Message) -> None:
    sys.stdout.write(
        MessageToJson(message, preserving_proto_field_name=True, ensure_ascii=False, indent=2) + "\n"
    )
