"""One kind of call: unloaded, at the sustainable rate, at twice that, unloaded again."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.live.calls import Call
from benchmarks.live.system import client_of, sample_questions
from benchmarks.load.loops import asked_in_turn, closed_loop, open_loop
from benchmarks.load.watch import Watched, watching
from radref.cli.stack import Stack
from radref.service.admission import BURST_SECONDS

OVERLOAD = 2.0
# A burst is let in and worked off before an overload counts as one.
RAMP_SECONDS = 3 * BURST_SECONDS
# So many keep every place busy: twice the processors.
WORKERS = 2 * (os.cpu_count() or 1)


@dataclass(frozen=True, slots=True)
class Phases:
    """What was measured of one kind.

    Attributes:
        kind: "generate" or "search".
        unloaded: calls one after the other, before and after the overload.
        sustainable: calls a second that came back answered from WORKERS workers, > 0.
        ramp: calls of the overload that began within RAMP_SECONDS.
        overload: the others.
        watched: memory and calls in flight, ramp excluded.
    """

    kind: str
    unloaded: tuple[Call, ...]
    sustainable: float
    ramp: tuple[Call, ...]
    overload: tuple[Call, ...]
    watched: Watched


async def measure(stack: Stack, kind: str, *, seconds: float, say: Callable[[str], None]) -> Phases:
    """Measures one kind.

    Args:
        stack: the running system.
        kind: "generate" or "search".
        seconds: of overload after the ramp, > 0; the other phases take a fifth of it, 8-60 s.
        say: told what begins.

    Raises:
        RuntimeError: without load, too little is answered to measure.
    """
    questions = asked_in_turn(sample_questions())
    quiet = min(60.0, max(8.0, seconds / 5))
    async with client_of(stack) as client:
        say(f"{kind}: warm-up, then one after the other for {quiet:.0f} s")
        await closed_loop(client, kind, questions, workers=1, seconds=quiet / 2)
        unloaded = await closed_loop(client, kind, questions, workers=1, seconds=quiet)
        say(f"{kind}: {WORKERS} workers for {quiet:.0f} s")
        began = time.perf_counter()
        busy = await closed_loop(client, kind, questions, workers=WORKERS, seconds=quiet)
        took = time.perf_counter() - began
        rate = sum(call.code == "OK" for call in busy) / took
        if rate == 0:
            raise RuntimeError(f"{kind}: nothing was answered: {sorted({call.reason for call in busy})}")
        say(f"{kind}: {OVERLOAD * rate:.1f} calls a second for {RAMP_SECONDS + seconds:.0f} s")
        began = time.perf_counter()
        async with watching(stack) as watched:
            calls = await open_loop(
                client, kind, questions, rate=OVERLOAD * rate, seconds=RAMP_SECONDS + seconds
            )
        # The backlog is worked off before a quiet moment is one.
        say(f"{kind}: one after the other for {quiet:.0f} s")
        await closed_loop(client, kind, questions, workers=1, seconds=quiet / 2)
        unloaded += await closed_loop(client, kind, questions, workers=1, seconds=quiet)
    after = began + RAMP_SECONDS
    return Phases(
        kind,
        tuple(unloaded),
        rate,
        tuple(call for call in calls if call.began < after),
        tuple(call for call in calls if call.began >= after),
        Watched(
            {name: _since(after, points) for name, points in watched.memory.items()},
            _since(after, watched.inflight),
        ),
    )


def _since(moment: float, points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    return [point for point in points if point[0] >= moment]
