"""The signals of a search, as the gate sees them, for every question of a set."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evaluation.bounded import for_each
from evaluation.failures import ErrorBudget
from evaluation.questions import Question
from radref.api.gateway.v1 import answer_pb2, gateway_pb2
from radref.client import RadrefClient
from radref.errors import RadrefError

# As in gateway.gate.GateThresholds. Never the length of the question.
SIGNALS = ("best_dense", "best_bm25", "term_coverage", "rare_term_coverage", "best_rerank")


@dataclass(frozen=True)
class CollectedSignals:
    """Signals of the questions that were asked, in the order of the set.

    Attributes:
        values: float64, shape (questions, len(SIGNALS)); NaN = the search did not give it.
        answerable: bool, shape (questions,).
        versions: of the last search; names the models.
        failures: calls that failed; their questions are left out.
    """

    values: npt.NDArray[np.float64]
    answerable: npt.NDArray[np.bool_]
    versions: answer_pb2.Versions
    failures: ErrorBudget


async def collect_signals(
    client: RadrefClient,
    questions: Sequence[Question],
    *,
    concurrency: int,
    timeout: float,
    on_done: Callable[[], None],
) -> CollectedSignals:
    """Searches every question as `Generate` would.

    Args:
        concurrency: questions in flight at a time, >= 1.
        timeout: seconds a call.
        on_done: called after every question.

    Raises:
        Unavailable: more than 5 % of the questions failed.
    """
    rows: list[list[float] | None] = [None] * len(questions)
    budget = ErrorBudget(len(questions))
    versions = answer_pb2.Versions()

    async def ask(item: tuple[int, Question]) -> None:
        index, question = item
        try:
            response = await client.search(question.query, timeout=timeout)
            rows[index] = _row(response)
            versions.CopyFrom(response.versions)
        except RadrefError as error:
            budget.spend(error)
        on_done()

    await for_each(enumerate(questions), ask, window=concurrency)
    asked = [(question, row) for question, row in zip(questions, rows, strict=True) if row is not None]
    return CollectedSignals(
        values=np.array([row for _, row in asked], dtype=np.float64).reshape(len(asked), len(SIGNALS)),
        answerable=np.array([question.answerable for question, _ in asked], dtype=bool),
        versions=versions,
        failures=budget,
    )


def _row(response: gateway_pb2.SearchResponse) -> list[float]:
    signals = response.signals
    reranked = [p.rerank_score for p in response.ranked_parents if p.HasField("rerank_score")]
    return [
        signals.best_dense if signals.HasField("best_dense") else np.nan,
        signals.best_bm25 if signals.HasField("best_bm25") else np.nan,
        signals.term_coverage,
        signals.rare_term_coverage,
        max(reranked) if reranked else np.nan,
    ]
