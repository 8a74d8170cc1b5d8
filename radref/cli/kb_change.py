"""`radref kb replace`, `rollback` and `withdraw`: what changes the version that is searched."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from radref.api.common.v1 import documents_pb2
from radref.cli.actor import As, actor_name
from radref.cli.jobs import finish_job
from radref.cli.kb_jobs import NoWait
from radref.cli.kb_show import MAX_VERSION, DocumentId
from radref.cli.output import out
from radref.cli.questions import DataDir, client_for, run
from radref.cli.validity_options import EffectiveFrom, EffectiveUntil, set_validity
from radref.errors import InvalidInput

Reason = Annotated[str, typer.Option("--reason", help="Why, for the audit trail; needed.")]


def replace(
    document_id: DocumentId,
    file: Annotated[Path, typer.Argument(help="The new version.")],
    title: Annotated[str, typer.Option(help="Title.")] = "",
    topic: Annotated[str, typer.Option(help="Topic.")] = "",
    language: Annotated[str, typer.Option(help="Language (BCP 47).")] = "",
    source_category: Annotated[str, typer.Option(help="Kind of source, e.g. guidance.")] = "",
    source: Annotated[str, typer.Option(help="Where it comes from (URL or citation).")] = "",
    licence: Annotated[str, typer.Option(help="Licence or legal status.")] = "",
    year: Annotated[int, typer.Option(min=0, max=2200, help="Year of publication.")] = 0,
    authority: Annotated[str, typer.Option(help="Body that issued it.")] = "",
    effective_from: EffectiveFrom = "",
    effective_until: EffectiveUntil = "",
    supersedes: Annotated[
        list[str] | None,
        typer.Option(metavar="ID", help="Document that this one replaces; may be repeated."),
    ] = None,
    no_wait: NoWait = False,
    as_: As = None,
    data_dir: DataDir = None,
) -> None:
    """Upload a new version of a document. What no option says stays as it was.

    The version searched now answers until the new one is indexed. Exit code 1 when that failed.
    """
    try:
        data = file.read_bytes()
    except OSError as exc:
        raise InvalidInput(f"cannot read {file}: {exc.strerror}") from None

    metadata = documents_pb2.DocumentMetadata(
        title=title,
        topic=topic,
        language=language,
        source_category=source_category,
        source=source,
        licence=licence,
        year=year,
        authority=authority,
        supersedes=supersedes or (),
    )
    set_validity(metadata, effective_from, effective_until)

    async def work() -> None:
        async with client_for(data_dir, actor_name(as_)) as client:
            response = await client.kb.replace_file(document_id, data, file.name, metadata)
            if response.duplicate:
                out.print(Text(f"version {response.version} of {document_id} holds these bytes already"))
                return
            out.print(Text(f"uploaded version {response.version} of {document_id}"))
            await finish_job(client.kb, response.job_id, wait=not no_wait)

    run(work())


def rollback(
    document_id: DocumentId,
    version: Annotated[
        int, typer.Argument(min=1, max=MAX_VERSION, help="An earlier version that was indexed.")
    ],
    reason: Reason = "",
    no_wait: NoWait = False,
    as_: As = None,
    data_dir: DataDir = None,
) -> None:
    """Go back to an earlier version without parsing it again. Exit code 1 when that failed."""
    _require(reason)

    async def work() -> None:
        async with client_for(data_dir, actor_name(as_)) as client:
            response = await client.kb.rollback_document(document_id, version, reason)
            before = f"version {response.previous_version}" if response.previous_version else "no version"
            out.print(Text(f"going back to version {version} of {document_id} ({before} is searched now)"))
            await finish_job(client.kb, response.job_id, wait=not no_wait)

    run(work())


def withdraw(
    document_id: DocumentId,
    reason: Reason = "",
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_: As = None,
    data_dir: DataDir = None,
) -> None:
    """Take a document out of retrieval at once; its citations still resolve, marked as withdrawn."""
    _require(reason)
    if not yes:
        if not sys.stdin.isatty():
            raise InvalidInput("there is no terminal to ask in: say --yes to withdraw without asking")
        if not typer.confirm(f"Take {document_id} out of retrieval?"):
            out.print("nothing was changed")
            raise typer.Exit(1)

    async def work() -> None:
        async with client_for(data_dir, actor_name(as_)) as client:
            response = await client.kb.withdraw_document(document_id, reason)
            was = (
                f"version {response.previous_version} was searched"
                if response.previous_version
                else "it was not searched"
            )
            out.print(Text(f"withdrawn {document_id}: {was}"))

    run(work())


def _require(reason: str) -> None:
    if not reason.strip():
        raise InvalidInput("say why with --reason", reason="EMPTY_TEXT", field="reason")
