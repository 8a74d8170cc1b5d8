"""A moderate load of four kinds of calls, each at its own fixed pace, whatever comes back."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from benchmarks.live.calls import Call, timed
from radref.client import RadrefClient

# Deadlines of an impatient caller: the client's own defaults (60 s, 15 s) would wait a pause of 10 s out.
ANSWER_SECONDS = 20.0
LOOKUP_SECONDS = 5.0
# Seconds between two calls; together less than half of what two processors do.
PACES = {"generate": 4.0, "search": 0.5, "source": 0.5, "documents": 0.5}


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked for.

    Attributes:
        questions: at least one.
        citation_ids: of passages that exist, at least one.
    """

    questions: Sequence[str]
    citation_ids: Sequence[str]


@asynccontextmanager
async def traffic(client: RadrefClient, asked: Asked) -> AsyncIterator[list[Call]]:
    """Calls while the block runs; the list is whole when the block was left."""
    calls: list[Call] = []
    under_way: set[asyncio.Task[None]] = set()

    async def one(kind: str, question: str, awaited: Awaitable[object], due: float) -> None:
        calls.append(await timed(kind, awaited, question, due=due))

    async def keep_asking(kind: str, make: Callable[[], tuple[str, Awaitable[object]]]) -> None:
        due = time.perf_counter()
        while True:
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            question, awaited = make()
            task = asyncio.create_task(one(kind, question, awaited, due))
            under_way.add(task)
            task.add_done_callback(under_way.discard)
            due += PACES[kind]

    askers = [asyncio.create_task(keep_asking(kind, make)) for kind, make in _makers(client, asked).items()]
    try:
        yield calls
    finally:
        for asker in askers:
            asker.cancel()
        ended = await asyncio.gather(*askers, return_exceptions=True)
        await asyncio.gather(*under_way)
    for end in ended:
        if not isinstance(end, asyncio.CancelledError):
            raise RuntimeError("a caller stopped asking") from end


def _makers(client: RadrefClient, asked: Asked) -> dict[str, Callable[[], tuple[str, Awaitable[object]]]]:
    answered, searched = itertools.cycle(asked.questions), itertools.cycle(asked.questions)
    sources: Iterator[str] = itertools.cycle(asked.citation_ids)

    def generate() -> tuple[str, Awaitable[object]]:
        question = next(answered)
        return question, client.generate(question, timeout=ANSWER_SECONDS)

    def search() -> tuple[str, Awaitable[object]]:
        question = next(searched)
        return question, client.search(question, timeout=LOOKUP_SECONDS)

    def source() -> tuple[str, Awaitable[object]]:
        return "", client.get_source(next(sources), timeout=LOOKUP_SECONDS)

    def documents() -> tuple[str, Awaitable[object]]:
        return "", client.kb.list_page(page_size=1, timeout=LOOKUP_SECONDS)

    return {"generate": generate, "search": search, "source": source, "documents": documents}
