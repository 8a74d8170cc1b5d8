"""`radref kb show`: one version as a reviewer sees it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Annotated

import typer
from rich.text import Text

from radref.api.common.v1 import documents_pb2
from radref.api.ingest.v1 import ingest_pb2, report_pb2
from radref.cli.names import decision_name, failure_text, moment, state_name
from radref.cli.output import out, print_json
from radref.cli.questions import AsJson, DataDir, client_for, run
from radref.errors import PreconditionFailed

# Versions are uint32 in the API.
MAX_VERSION = 2**32 - 1
DocumentId = Annotated[str, typer.Argument(metavar="ID", help="Id of the document.")]


def show(
    document_id: DocumentId,
    version: Annotated[int, typer.Option(min=0, max=MAX_VERSION, help="Version; 0 = the newest.")] = 0,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print the parsed text and nothing else.")
    ] = False,
    json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """Show metadata, state, parse report with warnings, near duplicates and reviews of a document."""

    async def work() -> ingest_pb2.GetDocumentResponse:
        async with client_for(data_dir) as client:
            return await client.kb.get_document(document_id, version=version)

    response = run(work())
    if json:
        print_json(response, complete=True)
        return
    if markdown:
        if not response.HasField("report"):
            raise PreconditionFailed(
                f"version {response.document.version} of {document_id} is "
                f"{state_name(response.document.state)}: it has no parsed text"
            )
        sys.stdout.write(response.markdown if response.markdown.endswith("\n") else response.markdown + "\n")
        return
    document = response.document
    out.print(Text(document.metadata.title or document.file_name, style="bold"))
    for name, value in _fields(document):
        out.print(Text(f"  {name:<16} {value}"))
    for twin in document.near_duplicates:
        out.print(
            Text(
                f"! nearly the same text ({twin.similarity:.0%}) as version {twin.version} of "
                f"{twin.document_id}: radref kb show {twin.document_id}",
                style="yellow",
            )
        )
    for review in document.reviews:
        comment = f": {review.comment}" if review.comment else ""
        out.print(
            Text(f"  {decision_name(review.decision)} by {review.reviewer} {moment(review.at)} UTC{comment}")
        )
    if response.HasField("report"):
        _show_report(response.report)
    if document.state == documents_pb2.DOCUMENT_STATE_PARSED:
        out.print()
        out.print(Text(f"Its text: radref kb show {document_id} --markdown"))
        out.print(Text(f"Then: radref kb approve {document_id}"))
        out.print(Text(f"or:   radref kb reject {document_id} --comment WHY"))


def _fields(document: ingest_pb2.DocumentSummary) -> Iterator[tuple[str, str]]:
    metadata = document.metadata
    yield "id", document.document_id
    searched = f"version {document.active_version} is searched" if document.active_version else "not searched"
    yield "version", f"{document.version}, {state_name(document.state)} ({searched})"
    if document.HasField("failure"):
        yield "failure", failure_text(document.failure)
    if document.HasField("ended_at"):
        yield "ended", f"{moment(document.ended_at)} UTC"
    if document.HasField("vanished_at"):
        yield "gone at source", f"since {moment(document.vanished_at)} UTC"
    yield "file", f"{document.file_name} (SHA-256 {document.sha256})"
    yield "uploaded by", document.submitted_by
    yield "changed", f"{moment(document.updated_at)} UTC"
    yield "topic", metadata.topic
    optional = {
        "language": metadata.language,
        "category": metadata.source_category,
        "source": metadata.source,
        "licence": metadata.licence,
        "year": str(metadata.year or ""),
        "authority": metadata.authority,
        "in force from": moment(metadata.effective_from),
        "in force until": moment(metadata.effective_until),
        "supersedes": ", ".join(metadata.supersedes),
    }
    yield from ((name, value) for name, value in optional.items() if value)
    if document.children:
        yield "passages", f"{document.parents} parents, {document.children} children"


def _show_report(report: report_pb2.ParseReport) -> None:
    out.print()
    out.print(Text("Parse report", style="bold"))
    values = {
        "format": report.format,
        "parser": report.parser,
        "encoding": report.encoding,
        "language": report.language,
        "pages": str(report.pages or ""),
        "headings": str(report.headings),
        "tables": str(report.tables),
        "characters": f"{report.characters} (cleaning removed {report.removed_characters})",
        "images": f"{report.image_share:.0%} of the page area" if report.image_share else "",
        "unreadable": f"{report.unreadable_share:.1%} of the characters" if report.unreadable_share else "",
        "orthography": f"{report.orthography_score:.2f}" if report.HasField("orthography_score") else "",
    }
    for name, value in values.items():
        if value:
            out.print(Text(f"  {name:<16} {value}"))
    for warning in report.warnings:
        out.print(Text(f"! {warning}", style="yellow"))
    if report.sections:
        out.print(Text("  sections"))
    for section in report.sections:
        indent = "  " * max(1, len(section.section_path))
        title = section.section_path[-1] if section.section_path else "(before the first heading)"
        out.print(Text(f"  {indent}{title}{_pages(section)}"))


def _pages(section: report_pb2.SectionInfo) -> str:
    if not section.HasField("pages"):
        return ""
    first, last = section.pages.first, section.pages.last
    return f"  p. {first}" if first == last else f"  pp. {first}-{last}"
