"""`radref consult`: imaging appropriateness for a clinical scenario."""

from __future__ import annotations

import sys
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from radref.api.gateway.v1 import answer_pb2, consult_pb2
from radref.cli.output import out, print_json, show_table
from radref.cli.questions import AsJson, DataDir, client_for, run

_DECISIONS = {
    consult_pb2.CONSULT_DECISION_GATE: "nothing like it in the knowledge base",
    consult_pb2.CONSULT_DECISION_NO_VARIANT: "no variant is about this",
    consult_pb2.CONSULT_DECISION_EXCLUDED: "excluded",
    consult_pb2.CONSULT_DECISION_OPEN: "not enough is said",
    consult_pb2.CONSULT_DECISION_TIE: "two variants fit equally",
    consult_pb2.CONSULT_DECISION_OTHER_QUESTION: "another question",
    consult_pb2.CONSULT_DECISION_GENERATOR: "the language model declined",
    consult_pb2.CONSULT_DECISION_VALIDATOR: "nothing passed the check",
}
_CATEGORIES = {
    consult_pb2.APPROPRIATENESS_CATEGORY_USUALLY_APPROPRIATE: ("usually appropriate", "green"),
    consult_pb2.APPROPRIATENESS_CATEGORY_MAY_BE_APPROPRIATE: ("may be appropriate", "yellow"),
    consult_pb2.APPROPRIATENESS_CATEGORY_USUALLY_NOT_APPROPRIATE: ("usually not appropriate", "red"),
}
_POLARITIES = {
    consult_pb2.FACT_POLARITY_PRESENT: "yes",
    consult_pb2.FACT_POLARITY_ABSENT: "no",
    consult_pb2.FACT_POLARITY_SUSPECTED: "suspected",
    consult_pb2.FACT_POLARITY_HISTORICAL: "earlier",
}
_URGENT_NOTICES = (
    answer_pb2.NOTICE_KIND_EMERGENCY_FEATURE,
    answer_pb2.NOTICE_KIND_PREGNANCY_NOT_STATED,
)
# Variants about which something can be said; the others were only found by the search.
_JUDGED = (consult_pb2.VARIANT_FIT_OPEN, consult_pb2.VARIANT_FIT_EXCLUDED, consult_pb2.VARIANT_FIT_FITS)


def consult(
    scenario: Annotated[
        str, typer.Argument(help="The clinical scenario, without patient data; - reads standard input.")
    ],
    json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """Rate the imaging for a clinical scenario, or say why no variant fits."""
    text = sys.stdin.read() if scenario == "-" else scenario

    async def work() -> None:
        async with client_for(data_dir) as client:
            response = await client.consult(text)
        if json:
            print_json(response)
        else:
            show_consult(out, response)

    run(work())


def show_consult(console: Console, response: consult_pb2.ConsultResponse) -> None:
    """Banner, recommendation or abstention, what it rests on, notices."""
    if response.banner:
        console.print(Text(response.banner, style="bold reverse"))
    if response.HasField("variant"):
        _show_recommendation(console, response)
    else:
        why = _DECISIONS.get(response.decision, "no recommendation")
        console.print(Text(f"No recommendation: {why}.", style="bold yellow"))
        console.print(Text(response.abstention.message))
        _show_candidates(console, response)
    for notice in response.notices:
        urgent = notice.kind in _URGENT_NOTICES
        console.print(Text(f"! {notice.message}", style="bold red" if urgent else "yellow"))
    if response.facts:
        facts = "; ".join(_fact(fact) for fact in response.facts)
        console.print(Text(f"Read from the text: {facts}", style="dim"))
    total = sum(timing.milliseconds for timing in response.timings if not timing.stage.endswith("_compute"))
    console.print(Text(f"{total:.0f} ms · request {response.request_id}", style="dim"))


def _show_recommendation(console: Console, response: consult_pb2.ConsultResponse) -> None:
    console.print(Text(response.variant.title, style="bold"))
    table = Table(box=None, pad_edge=False)
    for heading in ("rating", "procedure", "", "radiation", "comment"):
        table.add_column(heading)
    for procedure in response.procedures:
        category, colour = _CATEGORIES.get(procedure.category, ("", ""))
        table.add_row(
            str(procedure.rating),
            Text(procedure.name),
            Text(category, style=colour),
            procedure.radiation_level,
            Text(procedure.comment),
        )
    show_table(console, table)
    if response.assumptions:
        console.print(Text("Assumed, since it is not said: " + "; ".join(response.assumptions)))
    if response.open_questions:
        console.print(Text("Not said: " + " ".join(response.open_questions), style="yellow"))
    citation = response.variant.citation_id
    console.print(Text(f"[1] {response.variant.topic}: radref source {citation}", style="cyan"))


def _show_candidates(console: Console, response: consult_pb2.ConsultResponse) -> None:
    for candidate in response.candidates:
        if candidate.fit in _JUDGED:
            reasons = "; ".join(candidate.reasons) or "fits"
            console.print(Text(f"• {candidate.variant.title}", style="cyan"))
            console.print(Text(f"    {reasons}", style="dim"))


def _fact(fact: consult_pb2.ScenarioFact) -> str:
    evidence = f' ("{fact.evidence}")' if fact.evidence else ""
    return f"{fact.concept}: {_POLARITIES.get(fact.polarity, '?')}{evidence}"
