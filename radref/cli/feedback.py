"""`radref feedback`: a user's verdict on an answer."""

from __future__ import annotations

import shlex
from typing import Annotated

import typer
from rich.text import Text

from radref.api.gateway.v1 import gateway_pb2
from radref.cli.actor import As, actor_name
from radref.cli.output import out
from radref.cli.questions import DataDir, client_for, run
from radref.errors import InvalidInput

Mark = Annotated[int | None, typer.Option(min=1, max=5, help="1 (worst) to 5 (best).")]


def feedback(
    request_id: Annotated[
        str, typer.Argument(metavar="REQUEST_ID", help="Id of the request, as the answer shows it.")
    ],
    correctness: Mark = None,
    completeness: Mark = None,
    relevance: Mark = None,
    clarity: Mark = None,
    groundedness: Mark = None,
    usefulness: Mark = None,
    passage: Annotated[
        list[str] | None,
        typer.Option(metavar="ID=MARK", help="Usefulness of a cited passage, 1-5; may be repeated."),
    ] = None,
    comment: Annotated[
        str, typer.Option(help="In your words, at most 4000 characters; no patient data.")
    ] = "",
    actor: As = None,
    data_dir: DataDir = None,
) -> None:
    """Judge an answer; a second verdict of yours on it replaces the first."""
    marks = {
        gateway_pb2.FEEDBACK_CRITERION_CORRECTNESS: correctness,
        gateway_pb2.FEEDBACK_CRITERION_COMPLETENESS: completeness,
        gateway_pb2.FEEDBACK_CRITERION_RELEVANCE: relevance,
        gateway_pb2.FEEDBACK_CRITERION_CLARITY: clarity,
        gateway_pb2.FEEDBACK_CRITERION_GROUNDEDNESS: groundedness,
        gateway_pb2.FEEDBACK_CRITERION_USEFULNESS: usefulness,
    }
    ratings = [
        gateway_pb2.CriterionRating(criterion=criterion, rating=mark)
        for criterion, mark in marks.items()
        if mark is not None
    ]
    passages = [_passage(given) for given in passage or ()]

    async def work() -> str:
        async with client_for(data_dir, actor_name(actor)) as client:
            return await client.submit_feedback(
                request_id, ratings=ratings, passages=passages, comment=comment
            )

    out.print(Text(f"Stored as {run(work())}. Thank you."))
    out.print(Text(f"See it: radref audit feedback --request {shlex.quote(request_id)}", style="dim"))


def _passage(given: str) -> gateway_pb2.PassageRating:
    citation_id, _, mark = given.rpartition("=")
    if not citation_id or mark not in ("1", "2", "3", "4", "5"):
        raise InvalidInput("--passage takes ID=MARK with a mark of 1-5, e.g. 0123456789abcdef0123=4")
    return gateway_pb2.PassageRating(citation_id=citation_id, usefulness=int(mark))
