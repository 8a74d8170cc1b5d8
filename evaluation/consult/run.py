"""Asks every item of a set, as often as asked for."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from evaluation.consult.citations import CitationCounts, count_citations
from evaluation.consult.expectations import Expected
from evaluation.failures import ErrorBudget
from radref.api.gateway.v1 import answer_pb2, consult_pb2
from radref.client import RadrefClient
from radref.errors import Internal, RadrefError


@dataclass(frozen=True, slots=True)
class Observation:
    """A response, the milliseconds the client waited for it, and its citations."""

    response: consult_pb2.ConsultResponse
    milliseconds: float
    citations: CitationCounts


# One a run and item, in the order of the set.
Seen = Observation | RadrefError


@dataclass(frozen=True, slots=True)
class ConsultRuns:
    """What was seen, run by run, each in the order of the set; a call that failed with its error."""

    runs: tuple[tuple[Seen, ...], ...]
    failures: ErrorBudget
    versions: answer_pb2.Versions


async def run_scenarios(
    client: RadrefClient,
    expected: Sequence[Expected],
    *,
    runs: int,
    timeout: float,
    on_done: Callable[[], None],
) -> ConsultRuns:
    """Asks every item `runs` times, the set from start to end each time, one call at a time.

    Args:
        runs: >= 1.
        timeout: seconds a call.
        on_done: called after every item.

    Raises:
        Unavailable: more than 5 % of all calls failed.
    """
    budget = ErrorBudget(len(expected) * runs)
    versions = answer_pb2.Versions()
    texts: dict[str, str] = {}

    async def passage_text(citation_id: str) -> str:
        # What an id stands for never changes.
        if citation_id not in texts:
            source = await client.get_source(citation_id, timeout=timeout)
            texts[citation_id] = source.passage.text
        return texts[citation_id]

    async def ask(query: str) -> Seen:
        try:
            started = time.perf_counter()
            response = await client.consult(query, timeout=timeout)
            milliseconds = (time.perf_counter() - started) * 1000
            _whole(response)
            citations = await count_citations(response, passage_text)
        except RadrefError as error:
            budget.spend(error)
            return error
        versions.CopyFrom(response.versions)
        return Observation(response, milliseconds, citations)

    seen = []
    for _ in range(runs):
        run = []
        for each in expected:
            run.append(await ask(each.item.query))
            on_done()
        seen.append(tuple(run))
    return ConsultRuns(tuple(seen), budget, versions)


async def warm_up(client: RadrefClient, query: str, *, timeout: float) -> None:
    """One call that is in no figure: it opens connections and makes models load.

    It asks for another text than any item, so that a cache for questions does not make the item's own call
    faster. An error is left to the calls that count.
    """
    try:
        await client.consult(f"Warm-up. {query}", timeout=timeout)
    except RadrefError:
        return


def _whole(response: consult_pb2.ConsultResponse) -> None:
    """An outcome that cannot be judged is a defect of the system, neither an answer nor an abstention."""
    if response.outcome == answer_pb2.OUTCOME_UNSPECIFIED:
        raise Internal("Consult answered without an outcome")
    if response.outcome != answer_pb2.OUTCOME_ABSTAINED and not response.variant.id:
        raise Internal("Consult answered without a variant")
