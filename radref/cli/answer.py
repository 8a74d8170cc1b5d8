"""How an answer is shown in a terminal."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from radref.api.common.v1 import documents_pb2
from radref.api.gateway.v1 import answer_pb2, gateway_pb2

_REASONS = {
    answer_pb2.ABSTENTION_REASON_INSUFFICIENT_EVIDENCE: "insufficient evidence",
    answer_pb2.ABSTENTION_REASON_NO_VALID_CITATION: "no valid citation",
    answer_pb2.ABSTENTION_REASON_CONFLICT: "conflicting passages",
    answer_pb2.ABSTENTION_REASON_OUT_OF_SCOPE: "out of scope",
}
_FLAGS = {
    answer_pb2.STATEMENT_FLAG_NEGATION_MISSING: "the source has a negation",
    answer_pb2.STATEMENT_FLAG_OTHER_LANGUAGE: "not in the language of the question",
}


def show_answer(console: Console, response: gateway_pb2.GenerateResponse) -> None:
    """Statements with numbered citations, or the abstention; then notices and timings."""
    if response.HasField("abstention"):
        reason = _REASONS.get(response.abstention.reason, "unknown reason")
        console.print(Text(f"No answer: {reason}.", style="bold yellow"))
        console.print(Text(response.abstention.message))
    else:
        _show_statements(console, response)
    for notice in response.notices:
        console.print(Text(f"! {notice.message}", style="yellow"))
    stages = " · ".join(f"{timing.stage} {timing.milliseconds:.0f} ms" for timing in response.timings)
    total = sum(timing.milliseconds for timing in response.timings)
    console.print(Text(f"{total:.0f} ms ({stages}) · request {response.request_id}", style="dim"))


def _show_statements(console: Console, response: gateway_pb2.GenerateResponse) -> None:
    passages = {ranked.passage.citation_id: ranked.passage for ranked in response.ranked_parents}
    numbers: dict[tuple[str, tuple[str, ...]], int] = {}
    quotes: dict[int, list[str]] = {}
    for statement in response.statements:
        marks: list[int] = []
        for citation in statement.citations:
            key = (citation.citation_id, tuple(citation.section_path))
            number = numbers.setdefault(key, len(numbers) + 1)
            quotes.setdefault(number, []).append(citation.quote)
            if number not in marks:
                marks.append(number)
        flag = "".join(f" (check: {_FLAGS[flag]})" for flag in statement.flags if flag in _FLAGS)
        console.print(Text(f"• {statement.text} " + "".join(f"[{n}]" for n in marks) + flag))
    console.print()
    for (citation_id, section_path), number in numbers.items():
        console.print(Text(f"[{number}] {_place(passages[citation_id], section_path)}", style="cyan"))
        console.print(Text(f"    id {citation_id}", style="dim"))


def _place(passage: documents_pb2.Passage, section_path: tuple[str, ...]) -> str:
    parts = [passage.metadata.title or passage.document_id]
    if section := " > ".join(section_path or passage.section_path):
        parts.append(section)
    if passage.HasField("pages"):
        first, last = passage.pages.first, passage.pages.last
        parts.append(f"p. {first}" if first == last else f"pp. {first}-{last}")
    if passage.metadata.year:
        parts.append(str(passage.metadata.year))
    return " — ".join(parts)
