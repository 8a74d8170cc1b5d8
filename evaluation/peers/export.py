"""What a running radref holds and finds, through its public API, as files for the comparison.

    python -m evaluation.peers.export --target GATEWAY,INGEST --questions FILE --out DIR

Passages cannot be listed in the API; a search inside one document whose limits exceed what the document has
returns all of them, because the dense leg ranks every child. The counts are checked against the registry's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from evaluation.command_line import run
from evaluation.peers.formats import Document, Export, Parent, Result, write_export
from evaluation.progress import progress_on
from evaluation.questions import Question, load_questions
from evaluation.system import parse_target
from radref.api.common.v1 import documents_pb2
from radref.api.gateway.v1 import answer_pb2, gateway_pb2
from radref.api.ingest.v1 import ingest_pb2
from radref.client import RadrefClient
from radref.errors import InvalidInput, PreconditionFailed

# As evidence_hit@13 needs.
PARENTS = 13
# The API's upper bounds: more than any document of the corpus holds.
_EVERYTHING = documents_pb2.SearchLimits(per_collection=1000, candidates=5000, parents=1000)


def with_evidence(questions: Sequence[Question]) -> list[Question]:
    """The questions a hit is defined for: answerable, with gold quotes."""
    return [question for question in questions if question.answerable and question.gold_quotes]


async def export(
    client: RadrefClient,
    questions: Sequence[Question],
    *,
    timeout: float,
    on_step: Callable[[str, int], None] = lambda what, total: None,
) -> Export:
    """Documents, passages and search results of a running system.

    Args:
        client: has the addresses of gateway and ingest.
        questions: each is searched once, without the reranker.
        timeout: seconds a call.
        on_step: called after every document and question with what it was and how many there are.

    Raises:
        PreconditionFailed: nothing is searchable, or a document's passages could not all be had.
        RadrefError: a call failed.
    """
    indexed = [document async for document in client.list_documents(timeout=timeout)]
    indexed = sorted((item for item in indexed if item.active_version), key=lambda item: item.document_id)
    if not indexed:
        raise PreconditionFailed("The system holds no searchable document")
    documents, parents = [], []
    for summary in indexed:
        documents.append(await _document(client, summary, timeout))
        parents.extend(await _parents(client, summary, timeout))
        on_step("document", len(indexed))
    results = []
    versions = answer_pb2.Versions()
    for question in questions:
        response = await search(client, question.query, timeout=timeout)
        found = tuple(item.passage.citation_id for item in response.ranked_parents)
        results.append(Result(question.id, found))
        versions.CopyFrom(response.versions)
        on_step("question", len(questions))
    meta = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": {field.name: getattr(versions, field.name) for field in versions.DESCRIPTOR.fields},
        "documents": len(documents),
        "parents": len(parents),
        "children": sum(len(parent.children) for parent in parents),
        "questions": len(results),
    }
    return Export(tuple(documents), tuple(parents), tuple(results), meta)


async def search(client: RadrefClient, query: str, *, timeout: float) -> gateway_pb2.SearchResponse:
    """The search that is compared: 13 parents in fused order, everything else as the site has it."""
    limits = documents_pb2.SearchLimits(parents=PARENTS)
    return await client.search(query, rerank=gateway_pb2.RERANK_MODE_OFF, limits=limits, timeout=timeout)


async def _document(client: RadrefClient, summary: ingest_pb2.DocumentSummary, timeout: float) -> Document:
    response = await client.kb.get_document(
        summary.document_id, version=summary.active_version, timeout=timeout
    )
    metadata = response.document.metadata
    return Document(summary.document_id, metadata.title, metadata.topic, metadata.language, response.markdown)


async def _parents(client: RadrefClient, summary: ingest_pb2.DocumentSummary, timeout: float) -> list[Parent]:
    response = await client.search(
        summary.metadata.title or summary.document_id,
        rerank=gateway_pb2.RERANK_MODE_OFF,
        limits=_EVERYTHING,
        filters=documents_pb2.SearchFilters(document_ids=[summary.document_id]),
        timeout=timeout,
    )
    parents = [
        Parent(
            citation_id=item.passage.citation_id,
            document_id=item.passage.document_id,
            ordinal=item.passage.ordinal,
            text=item.passage.text,
            children=tuple(sorted((child.span.start, child.span.end) for child in item.children)),
        )
        for item in response.ranked_parents
    ]
    children = sum(len(parent.children) for parent in parents)
    # The summary counts the newest version, which may not be the searched one.
    known = summary.version == summary.active_version
    if known and (len(parents), children) != (summary.parents, summary.children):
        raise PreconditionFailed(
            f"Only {len(parents)} of {summary.parents} parents and {children} of {summary.children} children "
            f"of {summary.document_id} could be had by search"
        )
    return sorted(parents, key=lambda parent: parent.ordinal)


def main(
    target: Annotated[str, typer.Option(metavar="GATEWAY,INGEST", help="host:port of both services.")],
    questions: Annotated[Path, typer.Option(help="Question set, a JSON object a line.")],
    out: Annotated[Path, typer.Option(help="Folder for the files.")],
    timeout: Annotated[float, typer.Option(min=0.1, max=600, help="Seconds a call.")] = 60.0,
) -> None:
    """Write documents, passages and results of a running radref to files."""
    console = Console(stderr=True)
    run(lambda: _export_to(out, target, questions, timeout, console), console)


async def _export_to(out: Path, target: str, question_set: Path, timeout: float, console: Console) -> None:
    questions = load_questions(question_set)
    addresses = parse_target([target])
    if addresses is None or addresses.ingest is None:
        raise InvalidInput("--target needs the gateway's and the ingest service's address", field="target")
    async with RadrefClient(gateway=addresses.gateway, ingest=addresses.ingest) as client:
        exported = await export_with_progress(client, questions, timeout=timeout, console=console)
    write_export(out, exported)
    console.print(f"{out}: {exported.meta}", markup=False, highlight=False)


async def export_with_progress(
    client: RadrefClient, questions: Sequence[Question], *, timeout: float, console: Console
) -> Export:
    """`export` of the questions that have evidence, shown to people."""
    with progress_on(console) as progress:
        bars = {
            what: progress.add_task(f"Exporting, {what}s", total=None) for what in ("document", "question")
        }

        def step(what: str, total: int) -> None:
            progress.update(bars[what], total=total, advance=1)

        return await export(client, with_evidence(questions), timeout=timeout, on_step=step)


if __name__ == "__main__":
    typer.run(main)
