"""`radref kb load-variants` and `check-variants`: an appropriateness knowledge base from a file."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from radref.api.common.v1 import documents_pb2
from radref.api.ingest.v1 import ingest_pb2
from radref.appropriateness.documents import (
    CONSULT_TOPIC,
    is_variant_document,
    variant_document_id,
    variant_id_of,
)
from radref.appropriateness.kb_file import KnowledgeBase as AppropriatenessBase
from radref.appropriateness.kb_file import read_kb
from radref.appropriateness.messages import variant_to_proto
from radref.appropriateness.model import Variant
from radref.cli.actor import As, actor_name
from radref.cli.names import failure_text
from radref.cli.output import err, out, problem
from radref.cli.questions import DataDir, client_for, run
from radref.cli.upload_one import unhurried
from radref.errors import InvalidInput, RadrefError
from radref.knowledge_base import KnowledgeBase

# Jobs wait for each other in the service; more in flight would only queue there.
_AT_ONCE = 4
_WATCH_SECONDS = 3600.0
# States of a version that is on its way into the index.
_COMING = (
    documents_pb2.DOCUMENT_STATE_RECEIVED,
    documents_pb2.DOCUMENT_STATE_PARSED,
    documents_pb2.DOCUMENT_STATE_APPROVED,
)

File = Annotated[Path, typer.Argument(help="Knowledge base file (form appropriateness-kb/2).")]


class Verdict(StrEnum):
    """What became of a variant."""

    INDEXED = "indexed"
    UNCHANGED = "unchanged"
    WAITING = "waits for review"
    WITHDRAWN = "withdrawn"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class _Outcome:
    variant: str
    verdict: Verdict
    reason: str = ""


def check_variants(file: File) -> None:
    """Check a knowledge base file without sending it. Exit code 1 when it has faults; each with its line."""
    try:
        base = _read(file)
    except InvalidInput as exc:
        if not file.is_file():
            raise
        # Faults are what was asked for, not a wrong request.
        problem(exc.message)
        raise typer.Exit(1) from None
    topics = len({variant.topic_id for variant in base.variants})
    kind = ", synthetic" if base.synthetic else ""
    held = f"{len(base.variants)} variants of {topics} topics, version {base.version}{kind}"
    out.print(Text(f"{file}: {held}; no faults"))


def load_variants(
    file: File,
    withdraw_missing: Annotated[
        bool, typer.Option("--withdraw-missing", help="Withdraw variants that the file no longer holds.")
    ] = False,
    reason: Annotated[str, typer.Option(help="Why they are withdrawn, for the audit trail.")] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be sent.")] = False,
    as_: As = None,
    data_dir: DataDir = None,
) -> None:
    """Load an appropriateness knowledge base: every variant a document with review, versions and withdrawal.

    The whole file is checked before anything is sent. Exit code 1 when a variant failed.
    """
    base = _read(file)
    if withdraw_missing and not reason.strip():
        raise InvalidInput("say why: --reason TEXT goes into the audit trail", field="reason")

    async def work() -> list[_Outcome]:
        async with client_for(data_dir, actor_name(as_)) as client:
            missing = await _missing(client.kb, base) if withdraw_missing else []
            if dry_run:
                _show_plan(base, missing)
                return []
            outcomes = await _load(client.kb, base.variants)
            for document_id in missing:
                outcomes.append(await _withdrawn(client.kb, document_id, reason))
            return outcomes

    outcomes = run(work())
    if not dry_run:
        _show(outcomes)


def _read(file: Path) -> AppropriatenessBase:
    base = read_kb(file)
    if not base.variants:
        raise InvalidInput(f"{file} holds no variants")
    return base


async def _missing(kb: KnowledgeBase, base: AppropriatenessBase) -> list[str]:
    """Ids of documents of variants that the file does not hold and that are searched, or will be."""
    kept = {variant_document_id(variant.id) for variant in base.variants}
    documents = [document async for document in kb.list_documents(topics=(CONSULT_TOPIC,))]
    return sorted(
        document.document_id
        for document in documents
        # The newest version may have failed while an older one is still searched.
        if is_variant_document(document.document_id)
        and (document.active_version or document.state in _COMING)
        and document.document_id not in kept
    )


async def _load(kb: KnowledgeBase, variants: Sequence[Variant]) -> list[_Outcome]:
    places = asyncio.Semaphore(_AT_ONCE)
    with Progress(
        TextColumn("variants"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=err,
        transient=True,
        disable=not err.is_terminal,
    ) as progress:
        task = progress.add_task("variants", total=len(variants))

        async def one(variant: Variant) -> _Outcome:
            async with places:
                outcome = await _submitted(kb, variant)
            progress.advance(task)
            return outcome

        return list(await asyncio.gather(*(one(variant) for variant in variants)))


async def _submitted(kb: KnowledgeBase, variant: Variant) -> _Outcome:
    try:
        response = await unhurried(lambda: kb.submit_variant(variant_to_proto(variant)))
        if not response.job_id:
            return _Outcome(variant.id, Verdict.UNCHANGED)
        states = [job async for job in kb.watch_job(response.job_id, timeout=_WATCH_SECONDS)]
        job = states[-1] if states else ingest_pb2.Job()
    except RadrefError as exc:
        return _Outcome(variant.id, Verdict.FAILED, exc.message)
    if job.stage == ingest_pb2.JOB_STAGE_DONE:
        return _Outcome(variant.id, Verdict.INDEXED)
    if job.stage == ingest_pb2.JOB_STAGE_AWAIT_REVIEW:
        return _Outcome(variant.id, Verdict.WAITING)
    if not job.HasField("failure"):
        return _Outcome(variant.id, Verdict.FAILED, "the ingest service stopped reporting")
    return _Outcome(variant.id, Verdict.FAILED, failure_text(job.failure))


async def _withdrawn(kb: KnowledgeBase, document_id: str, reason: str) -> _Outcome:
    variant = variant_id_of(document_id)
    try:
        await kb.withdraw_document(document_id, reason=reason)
    except RadrefError as exc:
        return _Outcome(variant, Verdict.FAILED, exc.message)
    return _Outcome(variant, Verdict.WITHDRAWN)


def _show_plan(base: AppropriatenessBase, missing: Sequence[str]) -> None:
    for variant in base.variants:
        out.print(Text(f"would send {variant.id}: {variant.title}"))
    for document_id in missing:
        out.print(Text(f"would withdraw {variant_id_of(document_id)}"))


def _show(outcomes: Sequence[_Outcome]) -> None:
    for outcome in outcomes:
        if outcome.verdict is Verdict.FAILED:
            problem(f"{outcome.variant}: {outcome.reason}")
    counts = Counter(outcome.verdict for outcome in outcomes)
    told = ", ".join(f"{counts[verdict]} {verdict}" for verdict in Verdict if counts[verdict])
    out.print(Text(f"{len(outcomes)} variants: {told}"))
    waiting = [outcome.variant for outcome in outcomes if outcome.verdict is Verdict.WAITING]
    if waiting:
        out.print(Text(f"to approve one: radref kb approve {variant_document_id(waiting[0])}", style="dim"))
    if counts[Verdict.FAILED]:
        raise typer.Exit(1)
