"""The load on a scripted gateway. A clock that the script moves makes the times certain."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from evaluation.bench.figures import bench_figures
from evaluation.bench.load import Load, run_load
from radref.api.gateway.v1 import answer_pb2, gateway_pb2
from radref.client import RadrefClient
from radref.errors import DeadlineExceeded, Overloaded, Unavailable
from tests.evaluation.eval_fake_system import VERSIONS, FakeGateway, serving

QUESTIONS = [f"question {number}" for number in range(7)]
TIMINGS = {"embed": 12.0, "search": 6.0, "embed_compute": 10.0, "store_compute": 6.0}


class Clock:
    """Seconds that pass only when a call is answered."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def answer(**timings: float) -> gateway_pb2.SearchResponse:
    return gateway_pb2.SearchResponse(
        timings=[
            answer_pb2.StageTiming(stage=stage, milliseconds=milliseconds)
            for stage, milliseconds in timings.items()
        ]
    )


async def measured(
    gateway: FakeGateway,
    clock: Callable[[], float],
    *,
    concurrency: int = 1,
    warmup: float = 1.0,
    seconds: float = 2.0,
) -> Load:
    async with serving(gateway) as address, RadrefClient(gateway=address) as client:
        return await run_load(
            client,
            QUESTIONS,
            concurrency=concurrency,
            warmup=warmup,
            seconds=seconds,
            timeout=10,
            on_progress=lambda _: None,
            clock=clock,
        )


async def test_known_timings_give_the_known_ratio() -> None:
    clock = Clock()

    def search(_: gateway_pb2.SearchRequest) -> gateway_pb2.SearchResponse:
        # 100 ms a call during the warm-up, 20 ms after it.
        clock.now += 0.02 if clock.now >= 101 else 0.1
        return answer(**TIMINGS)

    gateway = FakeGateway(search)
    load = await measured(gateway, clock)
    assert len(gateway.searches) - len(load.calls) == pytest.approx(10, abs=1)  # the warm-up
    assert {round(call.milliseconds, 6) for call in load.calls} == {20.0}
    assert load.seconds == pytest.approx(2, abs=0.12)
    assert load.versions == VERSIONS
    figures = bench_figures(load)
    assert figures["overhead_ratio"] == pytest.approx(20 / 16)
    assert figures["overhead_ratio_p50"] == pytest.approx(20 / 16)
    assert figures["calls_per_second"] == pytest.approx(50, rel=0.06)


async def test_the_order_is_the_same_in_every_run_and_goes_round() -> None:
    asked = []
    for _ in range(2):
        clock = Clock()

        def search(_: gateway_pb2.SearchRequest, clock: Clock = clock) -> gateway_pb2.SearchResponse:
            clock.now += 0.25
            return answer(**TIMINGS)

        gateway = FakeGateway(search)
        await measured(gateway, clock)
        asked.append([request.query for request in gateway.searches])
    first = asked[0]
    assert first == asked[1]
    assert sorted(first[:7]) == sorted(QUESTIONS)
    assert first[:7] != QUESTIONS
    assert first[7:] == first[: len(first) - 7]


async def test_so_many_calls_are_under_way_and_none_is_abandoned() -> None:
    clock = Clock()
    gateway = _Held(lambda _: answer(**TIMINGS), clock=clock, wanted=5)
    load = await measured(gateway, clock, concurrency=5, warmup=0.0)
    assert gateway.most == 5
    assert len(load.calls) == len(gateway.searches) == 5


async def test_errors_are_counted_by_reason_and_in_no_figure() -> None:
    clock = Clock()

    def search(request: gateway_pb2.SearchRequest) -> gateway_pb2.SearchResponse:
        clock.now += 0.02
        if len(gateway.searches) in (70, 90):
            raise DeadlineExceeded("late")
        if len(gateway.searches) == 10:
            raise Overloaded("in the warm-up", retry_after=0.001)
        return answer(**TIMINGS)

    gateway = FakeGateway(search)
    load = await measured(gateway, clock)
    assert load.errors == {"DEADLINE": 2}
    assert len(load.calls) == pytest.approx(98, abs=1)


async def test_above_five_percent_it_ends() -> None:
    clock = Clock()

    def search(_: gateway_pb2.SearchRequest) -> gateway_pb2.SearchResponse:
        clock.now += 0.02
        if len(gateway.searches) % 10 == 0:
            raise DeadlineExceeded("late")
        return answer(**TIMINGS)

    gateway = FakeGateway(search)
    with pytest.raises(Unavailable, match=r"2 of 20 calls failed.*2 x DEADLINE") as caught:
        await measured(gateway, clock)
    assert caught.value.reason == "DEADLINE"
    assert len(gateway.searches) == 20


async def test_few_calls_are_judged_at_the_end() -> None:
    clock = Clock()

    def search(_: gateway_pb2.SearchRequest) -> gateway_pb2.SearchResponse:
        clock.now += 1.0
        if len(gateway.searches) == 1:
            raise DeadlineExceeded("late")
        return answer(**TIMINGS)

    gateway = FakeGateway(search)
    with pytest.raises(Unavailable, match="1 of 3 calls"):
        await measured(gateway, clock)
    assert len(gateway.searches) == 3


class _Held(FakeGateway):
    """Answers only when so many calls are there; then the time is up."""

    def __init__(
        self,
        search: Callable[[gateway_pb2.SearchRequest], gateway_pb2.SearchResponse],
        *,
        clock: Clock,
        wanted: int,
    ) -> None:
        super().__init__(search)
        self._clock, self._wanted = clock, wanted
        self._all_here = asyncio.Event()
        self._inside = 0
        self.most = 0

    async def Search(self, request, context):  # noqa: N802
        self._inside += 1
        self.most = max(self.most, self._inside)
        if self._inside == self._wanted:
            self._all_here.set()
        await self._all_here.wait()
        self._inside -= 1
        self._clock.now += 10
        return await super().Search(request, context)
