"""Who asks: a closed loop of workers, or an open loop that asks on and on whatever comes back."""

from __future__ import annotations

import asyncio
import itertools
import random
import time
from collections.abc import Iterator, Sequence

from benchmarks.live.calls import Call, call
from radref.client import RadrefClient

SEED = 20260101


def asked_in_turn(questions: Sequence[str]) -> Iterator[str]:
    """The questions round and round in a seeded order."""
    order = list(questions)
    random.Random(SEED).shuffle(order)
    return itertools.cycle(order)


async def closed_loop(
    client: RadrefClient, kind: str, questions: Iterator[str], *, workers: int, seconds: float
) -> list[Call]:
    """Each worker asks its next question when it has its answer; refused ones wait as they are told.

    Args:
        client: of the system.
        kind: "generate" or "search".
        questions: without end.
        workers: >= 1.
        seconds: during which calls begin, > 0.
    """
    until = time.perf_counter() + seconds
    calls: list[Call] = []

    async def work() -> None:
        while time.perf_counter() < until:
            done = await call(client, kind, next(questions))
            calls.append(done)
            if done.code != "OK":
                await asyncio.sleep(done.retry_after or 1.0)

    await asyncio.gather(*(work() for _ in range(workers)))
    return calls


async def open_loop(
    client: RadrefClient, kind: str, questions: Iterator[str], *, rate: float, seconds: float
) -> list[Call]:
    """Asks at random moments (Poisson, seeded), never waiting for answers; returns when all have ended.

    Args:
        client: of the system.
        kind: "generate" or "search".
        questions: without end.
        rate: calls a second, > 0.
        seconds: during which calls begin, > 0.
    """
    gaps = random.Random(SEED)
    due = time.perf_counter()
    until = due + seconds
    tasks: list[asyncio.Task[Call]] = []
    while (due := due + gaps.expovariate(rate)) < until:
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        tasks.append(asyncio.create_task(call(client, kind, next(questions), due=due)))
    return list(await asyncio.gather(*tasks))
