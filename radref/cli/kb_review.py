"""`radref kb approve` and `reject`."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.text import Text

from radref.api.common.v1 import documents_pb2
from radref.api.ingest.v1 import ingest_pb2
from radref.cli.actor import As, actor_name
from radref.cli.jobs import finish_job
from radref.cli.kb_jobs import NoWait
from radref.cli.kb_show import MAX_VERSION, DocumentId
from radref.cli.names import state_name
from radref.cli.output import out
from radref.cli.questions import DataDir, client_for, run
from radref.errors import InvalidInput, PreconditionFailed
from radref.knowledge_base import KnowledgeBase

Version = Annotated[
    int, typer.Option(min=0, max=MAX_VERSION, help="Version; 0 = the one that waits for review.")
]


def approve(
    document_id: DocumentId,
    version: Version = 0,
    comment: Annotated[str, typer.Option(help="A note for the audit trail.")] = "",
    no_wait: NoWait = False,
    as_: As = None,
    data_dir: DataDir = None,
) -> None:
    """Approve a parsed version, and wait until it is indexed. Exit code 1 when indexing failed."""

    async def work() -> None:
        async with client_for(data_dir, actor_name(as_)) as client:
            chosen = version or await _awaiting_review(client.kb, document_id)
            response = await client.kb.review_document(
                document_id, chosen, ingest_pb2.REVIEW_DECISION_APPROVE, comment=comment
            )
            out.print(Text(f"approved version {chosen} of {document_id}"))
            if response.job_id:
                await finish_job(client.kb, response.job_id, wait=not no_wait)
            elif response.approvals_missing:
                missing = response.approvals_missing
                people = "somebody else" if missing == 1 else f"{missing} other people"
                out.print(Text(f"it is indexed after approval by {people}: radref kb approve {document_id}"))

    run(work())


def reject(
    document_id: DocumentId,
    version: Version = 0,
    comment: Annotated[str, typer.Option(help="Why; needed.")] = "",
    as_: As = None,
    data_dir: DataDir = None,
) -> None:
    """Reject a parsed version: it is never searched. Corrections come with `radref kb replace`."""
    if not comment.strip():
        raise InvalidInput("say why with --comment", reason="EMPTY_TEXT", field="comment")

    async def work() -> None:
        async with client_for(data_dir, actor_name(as_)) as client:
            chosen = version or await _awaiting_review(client.kb, document_id)
            await client.kb.review_document(
                document_id, chosen, ingest_pb2.REVIEW_DECISION_REJECT, comment=comment
            )
            out.print(Text(f"rejected version {chosen} of {document_id}"))

    run(work())


async def _awaiting_review(kb: KnowledgeBase, document_id: str) -> int:
    versions = await kb.list_versions(document_id)
    for version in reversed(versions):
        if version.state == documents_pb2.DOCUMENT_STATE_PARSED:
            return version.version
    states = ", ".join(f"version {version.version} is {state_name(version.state)}" for version in versions)
    raise PreconditionFailed(
        f"no version of {document_id} waits for review ({states}). Its past: radref kb history {document_id}"
    )
