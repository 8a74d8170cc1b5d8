"""`radref ask`, `search` and `source`: what readers do."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from rich.text import Text

from radref.api.common.v1 import documents_pb2
from radref.cli.answer import show_answer
from radref.cli.output import out, print_json
from radref.cli.paths import default_data_dir, find_addresses
from radref.client import RadrefClient
from radref.client_environment import tls_from_environment, token_from_environment

T = TypeVar("T")
DataDir = Annotated[Path | None, typer.Option(help="Data directory of the running `radref up`.")]
Topics = Annotated[list[str] | None, typer.Option("--topic", help="Only this topic; may be repeated.")]
Languages = Annotated[list[str] | None, typer.Option("--language", help="Only this language.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the whole response as JSON.")]
_STATES = {
    documents_pb2.DOCUMENT_STATE_INDEXED: "in force",
    documents_pb2.DOCUMENT_STATE_SUPERSEDED: "SUPERSEDED",
    documents_pb2.DOCUMENT_STATE_WITHDRAWN: "WITHDRAWN",
}


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(coroutine)


def client_for(data_dir: Path | None, actor: str = "") -> RadrefClient:
    addresses = find_addresses(data_dir or default_data_dir())
    return RadrefClient(
        gateway=addresses.gateway,
        ingest=addresses.ingest,
        actor=actor,
        token=token_from_environment(),
        tls=tls_from_environment(),
    )


def ask(
    question: Annotated[str, typer.Argument(help="The question, English or Russian.")],
    topic: Topics = None,
    language: Languages = None,
    json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """Ask a question; print the answer with numbered citations, or why there is none."""

    async def work() -> None:
        async with client_for(data_dir) as client:
            filters = documents_pb2.SearchFilters(topics=topic or (), languages=language or ())
            response = await client.generate(question, filters=filters)
        if json:
            print_json(response)
        else:
            show_answer(out, response)

    run(work())


def search(
    query: Annotated[str, typer.Argument(help="What to look for.")],
    topic: Topics = None,
    language: Languages = None,
    json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """Show the ranked passages without an answer."""

    async def work() -> None:
        async with client_for(data_dir) as client:
            filters = documents_pb2.SearchFilters(topics=topic or (), languages=language or ())
            response = await client.search(query, filters=filters)
        if json:
            print_json(response)
            return
        for ranked in response.ranked_parents:
            passage = ranked.passage
            section = " > ".join(passage.section_path)
            head = " — ".join(part for part in (passage.metadata.title, section) if part)
            out.print(Text(f"{ranked.rank}. {head}", style="bold"))
            out.print(
                Text(
                    f"   {passage.metadata.topic} · {passage.document_id} · id {passage.citation_id}",
                    style="dim",
                )
            )
            if ranked.children:
                span = ranked.children[0].span
                snippet = " ".join(passage.text[span.start : span.end].split())
                out.print(Text(f"   {snippet[:220]}{'…' if len(snippet) > 220 else ''}"))
        if not response.ranked_parents:
            out.print("Nothing found.")
        for notice in response.notices:
            out.print(Text(f"! {notice.message}", style="yellow"))

    run(work())


def source(
    citation_id: Annotated[str, typer.Argument(help="Id of a citation, as answers show it.")],
    json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """Show the exact passage behind a citation, of any version ever indexed."""

    async def work() -> None:
        async with client_for(data_dir) as client:
            response = await client.get_source(citation_id)
        if json:
            print_json(response)
            return
        passage = response.passage
        state = _STATES.get(response.state, "unknown state")
        ended = f" since {response.ended_at.ToDatetime():%Y-%m-%d}" if response.HasField("ended_at") else ""
        title = passage.metadata.title or passage.document_id
        out.print(Text(f"{title} (version {passage.version}, {state}{ended})", style="bold"))
        out.print(Text(" > ".join(passage.section_path), style="dim"))
        out.print(Text(passage.text))

    run(work())
