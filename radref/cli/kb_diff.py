"""`radref kb diff`: what changed between two versions, section by section."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from typing import Annotated

import typer
from rich.text import Text

from radref.api.common.v1 import documents_pb2
from radref.api.ingest.v1 import ingest_pb2
from radref.cli.kb_show import MAX_VERSION, DocumentId
from radref.cli.output import out
from radref.cli.questions import DataDir, client_for, run
from radref.errors import InvalidInput, PreconditionFailed
from radref.knowledge_base import KnowledgeBase

_WITHOUT_TEXT = (documents_pb2.DOCUMENT_STATE_RECEIVED, documents_pb2.DOCUMENT_STATE_FAILED)
_STYLES = {"+": "green", "-": "red"}


def diff(
    document_id: DocumentId,
    from_version: Annotated[
        int | None, typer.Argument(metavar="FROM", min=1, max=MAX_VERSION, help="Earlier version.")
    ] = None,
    to_version: Annotated[
        int | None,
        typer.Argument(
            metavar="TO", min=1, max=MAX_VERSION, help="Later version; default: the last two versions."
        ),
    ] = None,
    data_dir: DataDir = None,
) -> None:
    """Show what changed between two versions as a unified diff, section by section."""
    if from_version is not None and to_version is None:
        raise InvalidInput("give both versions, or none for the last two", field="to_version")

    async def work() -> tuple[int, int, Sequence[ingest_pb2.SectionDiff]]:
        async with client_for(data_dir) as client:
            if from_version is not None and to_version is not None:
                first, second = from_version, to_version
            else:
                first, second = await _last_two(client.kb, document_id)
            return first, second, await client.kb.diff_versions(document_id, first, second)

    first, second, sections = run(work())
    if not sections:
        out.print(Text(f"The text of versions {first} and {second} of {document_id} is the same."))
        return
    out.print(Text(f"--- {document_id} version {first}", style="bold"))
    out.print(Text(f"+++ {document_id} version {second}", style="bold"))
    for section in sections:
        path = " > ".join(section.section_path) or "(before the first heading)"
        out.print(Text(f"@@ {path} @@{_kind(section)}", style="cyan"))
        for line in _lines(section):
            out.print(Text(line, style=_STYLES.get(line[:1], "")))


async def _last_two(kb: KnowledgeBase, document_id: str) -> tuple[int, int]:
    with_text = [v.version for v in await kb.list_versions(document_id) if v.state not in _WITHOUT_TEXT]
    if len(with_text) < 2:
        raise PreconditionFailed(
            f"{document_id} has {len(with_text)} parsed version(s); two are needed to compare. "
            f"Its past: radref kb history {document_id}"
        )
    return with_text[-2], with_text[-1]


def _kind(section: ingest_pb2.SectionDiff) -> str:
    if not section.before:
        return " new"
    return "" if section.after else " gone"


def _lines(section: ingest_pb2.SectionDiff) -> Iterator[str]:
    compared = difflib.unified_diff(section.before.splitlines(), section.after.splitlines(), lineterm="")
    # The two file lines are printed once for the whole document, line numbers say nothing in a section.
    return (line for line in list(compared)[2:] if not line.startswith("@@"))
