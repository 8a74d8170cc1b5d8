"""The system under measurement: an own one, or a running one named by `--target`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from evaluation.stack import ephemeral_stack
from radref.client import RadrefClient
from radref.client_environment import tls_from_environment, token_from_environment
from radref.errors import InvalidInput


@dataclass(frozen=True)
class Target:
    """Addresses of a running system, host:port. Without `ingest` nothing is uploaded."""

    gateway: str
    ingest: str | None = None


@dataclass(frozen=True)
class System:
    """A connected system; `can_ingest` says whether documents may be uploaded."""

    client: RadrefClient
    can_ingest: bool


def parse_target(values: Sequence[str]) -> Target | None:
    """`--target`: gateway, or gateway and ingest, separated by a comma or as two options; None without any.

    Raises:
        InvalidInput: more than two addresses, or one that is not host:port.
    """
    addresses = [part.strip() for value in values for part in value.split(",") if part.strip()]
    if not addresses:
        return None
    if len(addresses) > 2:
        raise InvalidInput(
            "--target takes the gateway's and at most the ingest service's address", field="target"
        )
    for address in addresses:
        host, _, port = address.rpartition(":")
        if not host or not port.isdigit() or not 0 < int(port) < 65536:
            raise InvalidInput(f"--target: {address} is not of the form HOST:PORT", field="target")
    return Target(*addresses)


@asynccontextmanager
async def open_system(
    target: Target | None,
    data_dir: Path | None,
    console: Console,
    *,
    settings: Mapping[str, str] | None = None,
) -> AsyncIterator[System]:
    """Connects to `target`, or starts an own system on `data_dir` and stops it at the end.

    `settings` of the own system, by path, stand above those of the environment; see `ephemeral_stack`.

    Raises:
        Unavailable: the own system does not start or ended by itself.
    """
    if target is not None:
        # The ingest channel connects only when it is used.
        client = RadrefClient(
            gateway=target.gateway,
            ingest=target.ingest or target.gateway,
            token=token_from_environment(),
            tls=tls_from_environment(),
        )
        async with client:
            yield System(client, can_ingest=target.ingest is not None)
        return
    status = console.status("Starting the services ...")
    status.start()
    try:
        async with ephemeral_stack(data_dir, settings=settings) as addresses:
            status.stop()
            async with RadrefClient(gateway=addresses.gateway, ingest=addresses.ingest) as client:
                yield System(client, can_ingest=True)
    finally:
        status.stop()
