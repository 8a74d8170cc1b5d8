"""Who changes documents, for the audit trail."""

from __future__ import annotations

import getpass
from typing import Annotated

import typer

from radref.errors import InvalidInput

As = Annotated[
    str | None,
    typer.Option(
        "--as", metavar="NAME", help="Who does this, for the audit trail; default: your user name here."
    ),
]


def actor_name(given: str | None) -> str:
    """The name given, else that of the operating system's user; empty where it has none (a container).

    Raises:
        InvalidInput: the name given is blank.
    """
    if given is not None:
        if not given.strip():
            raise InvalidInput("--as takes a name")
        return given
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        return ""
