"""The four services on this machine with the samples in them; a service that dies is started again."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import cast

from radref.cli.stack import Stack
from radref.cli.uploading import find_uploads, upload_all
from radref.cli.uploads import Result, Verdict
from radref.client import RadrefClient

SAMPLES = Path(__file__).parents[2] / "samples"
SERVICES = ("gateway", "retrieval", "inference", "ingest")
_SUPERVISE_SECONDS = 0.1


@asynccontextmanager
async def running_stack(data_dir: Path) -> AsyncIterator[Stack]:
    """What `radref up` runs, on its defaults, with the samples ingested.

    Args:
        data_dir: where the system keeps its data; one that holds the samples already is not filled again.

    Raises:
        StackError: it does not start.
        RuntimeError: a sample was not indexed.
    """
    stack = Stack(data_dir)
    supervisor: asyncio.Task[None] | None = None
    try:
        stack.start()
        await asyncio.to_thread(stack.wait_until_serving)
        supervisor = asyncio.create_task(_supervise(stack))
        async with client_of(stack) as client:
            await _ingest_samples(client)
        yield stack
    finally:
        if supervisor is not None:
            supervisor.cancel()
            with suppress(asyncio.CancelledError):
                await supervisor
        await asyncio.to_thread(stack.stop)


def client_of(stack: Stack) -> RadrefClient:
    """A client of the running system; close it."""
    return RadrefClient(gateway=stack.addresses.gateway, ingest=stack.addresses.ingest)


def sample_questions() -> list[str]:
    """The questions of the samples, English and Russian."""
    lines = (SAMPLES / "qa.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["query"] for line in lines]


def admin_port(stack: Stack, service: str) -> int:
    """Port of a service's metrics, from its own log.

    Raises:
        LookupError: it has not said so yet.
    """
    for line in reversed(stack.log_path(service).read_text(encoding="utf-8").splitlines()):
        if '"admin_port"' in line:
            return cast(int, json.loads(line)["admin_port"])
    raise LookupError(f"the log of {service} names no admin port")


async def _supervise(stack: Stack) -> None:
    while True:
        stack.supervise_once()
        await asyncio.sleep(_SUPERVISE_SECONDS)


async def _ingest_samples(client: RadrefClient) -> None:
    uploads, problems = find_uploads([SAMPLES / "documents"], topic="", language="")
    results = [
        *problems,
        *[event async for event in upload_all(client, uploads) if isinstance(event, Result)],
    ]
    failed = [result for result in results if result.verdict not in (Verdict.INDEXED, Verdict.SKIPPED)]
    if failed:
        raise RuntimeError(f"samples were not indexed: {', '.join(str(result) for result in failed)}")
