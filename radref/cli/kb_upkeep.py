"""`radref kb verify` and `reembed`: the index against the registry, and the index anew."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.text import Text

from radref.api.ingest.v1 import ingest_pb2
from radref.cli.actor import As, actor_name
from radref.cli.jobs import finish_job
from radref.cli.kb_jobs import NoWait
from radref.cli.output import err, out, print_json
from radref.cli.questions import AsJson, DataDir, client_for, run


def verify(
    repair: Annotated[bool, typer.Option("--repair", help="Also mend what differs.")] = False,
    json: AsJson = False,
    as_: As = None,
    data_dir: DataDir = None,
) -> None:
    """Compare registry and index. Exit code 1 when something differs and was not repaired."""

    async def work() -> ingest_pb2.VerifyIndexResponse:
        async with client_for(data_dir, actor_name(as_)) as client:
            with err.status("comparing ..."):
                return await client.kb.verify_index(repair=repair)

    response = run(work())
    left = sum(not divergence.repaired for divergence in response.divergences)
    if json:
        print_json(response, complete=True)
    else:
        _show(response, left, repair=repair)
    if left:
        raise typer.Exit(1)


def _show(response: ingest_pb2.VerifyIndexResponse, left: int, *, repair: bool) -> None:
    for divergence in response.divergences:
        place = divergence.document_id or "index"
        version = f" version {divergence.version}" if divergence.version else ""
        mended = " (repaired)" if divergence.repaired else ""
        style = "green" if divergence.repaired else "yellow"
        out.print(Text(f"! {place}{version}: {divergence.message}{mended}", style=style))
    out.print(
        f"{response.documents} documents to be searched; children: {response.children_expected} by the "
        f"registry, {response.children_found} in the index"
    )
    if not response.divergences:
        out.print("Registry and index agree.")
        return
    found = len(response.divergences)
    out.print(f"{found} {'difference' if found == 1 else 'differences'}, {found - left} repaired")
    if left and repair:
        out.print("What is left needs the retrieval service or a fresh upload; run this again after that.")
    elif left:
        out.print("To mend them: radref kb verify --repair")


def reembed(
    model: Annotated[str, typer.Option(help="Embedding model; default: the inference service's own.")] = "",
    no_wait: NoWait = False,
    as_: As = None,
    data_dir: DataDir = None,
) -> None:
    """Build the index anew with an embedding model, beside the old one, which answers until the switch."""

    async def work() -> None:
        async with client_for(data_dir, actor_name(as_)) as client:
            await finish_job(client.kb, await client.kb.reembed(model=model), wait=not no_wait)

    run(work())
