"""A closed loop of Search calls: so many workers, each asks its next question when it has the last answer."""

from __future__ import annotations

import asyncio
import itertools
import random
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from evaluation.bounded import for_each
from evaluation.failures import MAX_ERROR_SHARE
from radref.api.gateway.v1 import answer_pb2, gateway_pb2
from radref.client import RadrefClient
from radref.errors import RadrefError, Unavailable

# Order of the questions; the same in every run.
SEED = 20260101
# Fewer calls say nothing about a share of 5 %; at the end of a run they have to.
JUDGED_FROM_CALLS = 20


@dataclass(frozen=True, slots=True)
class Call:
    """One answered Search.

    Attributes:
        milliseconds: from the client's call to its answer, > 0.
        stages: milliseconds by stage as the answer tells them, see StageTiming in gateway.v1.
        degraded: a search leg failed; the answer came from the rest.
    """

    milliseconds: float
    stages: Mapping[str, float]
    degraded: bool


@dataclass(frozen=True, slots=True)
class Load:
    """What was measured.

    Attributes:
        calls: answered calls that began after the warm-up, in the order of their answers.
        seconds: from the end of the warm-up to the last answer or error.
        errors: calls that failed after the warm-up, by reason, the most frequent first.
        versions: what answered, as the last answer tells.
    """

    calls: tuple[Call, ...]
    seconds: float
    errors: dict[str, int]
    versions: answer_pb2.Versions


async def run_load(
    client: RadrefClient,
    questions: Sequence[str],
    *,
    concurrency: int,
    warmup: float,
    seconds: float,
    timeout: float,
    on_progress: Callable[[float], None],
    clock: Callable[[], float] = time.perf_counter,
) -> Load:
    """Asks the questions round and round in a seeded order until the time is up.

    A call that has begun is always awaited. A worker that was refused waits as long as the refusal says.

    Args:
        questions: at least one.
        concurrency: workers, >= 1.
        warmup: seconds at the start that count for nothing, >= 0.
        seconds: during which calls that count may begin, > 0.
        timeout: seconds a call.
        on_progress: called with the seconds since the start, after every call.
        clock: seconds, monotonic.

    Raises:
        Unavailable: more than 5 % of all calls failed, the warm-up included; its reason is that of the last
            failure.
    """
    order = list(questions)
    random.Random(SEED).shuffle(order)
    following = itertools.cycle(order)
    calls: list[Call] = []
    failures = _Failures()
    versions = answer_pb2.Versions()
    started = clock()
    measured_from = started + warmup
    until = measured_from + seconds
    last = measured_from

    async def work(_: int) -> None:
        nonlocal last
        while (began := clock()) < until:
            measured = began >= measured_from
            pause: float | None = None
            try:
                response = await client.search(next(following), timeout=timeout)
            except RadrefError as error:
                failures.failed(error, measured=measured)
                pause = error.retry_after or 0.0
            else:
                failures.answered()
                versions.CopyFrom(response.versions)
            ended = clock()
            if measured:
                last = max(last, ended)
                if pause is None:
                    calls.append(_call(response, (ended - began) * 1000))
            on_progress(ended - started)
            if pause is not None:
                await asyncio.sleep(max(0.0, min(pause, until - ended)))

    await for_each(range(concurrency), work, window=concurrency)
    failures.judge()
    return Load(tuple(calls), last - measured_from, dict(failures.measured.most_common()), versions)


def _call(response: gateway_pb2.SearchResponse, milliseconds: float) -> Call:
    return Call(
        milliseconds,
        {timing.stage: timing.milliseconds for timing in response.timings},
        any(notice.kind == answer_pb2.NOTICE_KIND_DEGRADED_SEARCH for notice in response.notices),
    )


@dataclass(slots=True)
class _Failures:
    """Failed calls, and whether there are too many of them."""

    measured: Counter[str] = field(default_factory=Counter)
    _all: Counter[str] = field(default_factory=Counter)
    _calls: int = 0
    _last: RadrefError | None = None

    def answered(self) -> None:
        self._calls += 1

    def failed(self, error: RadrefError, *, measured: bool) -> None:
        """Raises Unavailable when more than 5 % of many calls have failed."""
        self._calls += 1
        self._last = error
        self._all[error.reason] += 1
        if measured:
            self.measured[error.reason] += 1
        if self._calls >= JUDGED_FROM_CALLS:
            self.judge()

    def judge(self) -> None:
        """Raises Unavailable when more than 5 % of the calls have failed."""
        failed = self._all.total()
        if self._last is None or failed <= MAX_ERROR_SHARE * self._calls:
            return
        reasons = ", ".join(f"{count} x {reason}" for reason, count in self._all.most_common())
        raise Unavailable(
            f"Measurement ended: {failed} of {self._calls} calls failed, more than {MAX_ERROR_SHARE:.0%} "
            f"({reasons}). The last message: {self._last.message}",
            reason=self._last.reason,
        )
