"""Asks every system every question, in turn, in one process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from evaluation.peers.judge import Ranks, Timing, quote_ranks
from evaluation.peers.systems import Found, System
from evaluation.questions import Question

WARM_UP = 5


@dataclass(frozen=True)
class Measured:
    """What one system did.

    Attributes:
        label: of the system.
        ranks: one a question, of the first round.
        first_five: the first five passages a question, of the first round.
        timings: one a question and round.
    """

    label: str
    ranks: tuple[Ranks, ...]
    first_five: tuple[tuple[str, ...], ...]
    timings: tuple[Timing, ...]


async def measure(
    systems: Sequence[System],
    questions: Sequence[Question],
    *,
    rounds: int,
    on_done: Callable[[], None] = lambda: None,
) -> list[Measured]:
    """Rounds over all questions, one search at a time.

    Systems take turns question by question, and who begins changes with every question: noise of the
    machine and what a predecessor leaves in caches hit all alike. A few questions warm up, untimed.

    Args:
        systems: indexed and ready.
        questions: with gold quotes.
        rounds: timed passes over the questions, >= 1.
        on_done: called after every timed question.
    """
    for question in questions[:WARM_UP]:
        for system in systems:
            await system.search(question.query)
    firsts: list[list[Found]] = [[] for _ in systems]
    timings: list[list[Timing]] = [[] for _ in systems]
    for round_number in range(rounds):
        for number, question in enumerate(questions):
            for turn in range(len(systems)):
                index = (turn + number + round_number) % len(systems)
                found = await systems[index].search(question.query)
                timings[index].append(Timing(found.seconds, found.embed_seconds))
                if round_number == 0:
                    firsts[index].append(found)
            on_done()
    return [
        Measured(
            label=system.label,
            ranks=tuple(
                quote_ranks(question, found.passages)
                for question, found in zip(questions, first, strict=True)
            ),
            first_five=tuple(found.passages[:5] for found in first),
            timings=tuple(times),
        )
        for system, first, times in zip(systems, firsts, timings, strict=True)
    ]
