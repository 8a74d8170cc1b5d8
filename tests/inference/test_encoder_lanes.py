"""The two waiting lines in front of a model."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

import pytest

from inference_svc.embedders.lanes import QUESTIONS_IN_A_ROW, EncoderLanes, Job, Lane
from radref.errors import Overloaded, Unavailable


class Bench:
    """Lanes whose first job waits for `go`, and a record of what ran."""

    def __init__(self, question_tokens: int = 100, document_tokens: int = 100) -> None:
        self.waited: list[float] = []
        self.lanes = EncoderLanes(
            question_tokens=question_tokens,
            document_tokens=document_tokens,
            observe_wait=self.waited.append,
        )
        self.go, self.ran = threading.Event(), []

    def jobs(self, *names: str, tokens: int = 1) -> list[Job[str]]:
        return [Job(tokens, self._named(name)) for name in names]

    def _named(self, name: str) -> Callable[[], str]:
        def work() -> str:
            self.ran.append(name)
            return name

        return work

    async def blocked(self) -> asyncio.Task[list[None]]:
        """A running job, so that what comes next has to wait."""
        task = asyncio.create_task(self.lanes.run(Lane.DOCUMENT, [Job(1, lambda: self.go.wait(10) and None)]))
        await asyncio.sleep(0)
        return task

    async def start(self, lane: Lane, *names: str, tokens: int = 1) -> asyncio.Task[list[str]]:
        task = asyncio.create_task(self.lanes.run(lane, self.jobs(*names, tokens=tokens)))
        await asyncio.sleep(0)
        return task


async def test_results_come_in_the_order_of_the_jobs() -> None:
    bench = Bench()
    assert await bench.lanes.run(Lane.DOCUMENT, bench.jobs(*"abcdef")) == list("abcdef")
    assert await bench.lanes.run(Lane.QUESTION, []) == []
    assert len(bench.waited) == 1
    await bench.lanes.close()


async def test_questions_go_before_documents() -> None:
    bench = Bench()
    tasks = [await bench.blocked()]
    tasks.append(await bench.start(Lane.DOCUMENT, "d1", "d2"))
    tasks.append(await bench.start(Lane.QUESTION, "q1"))
    bench.go.set()
    await asyncio.gather(*tasks)
    assert bench.ran == ["q1", "d1", "d2"]
    await bench.lanes.close()


async def test_requests_of_a_line_take_turns() -> None:
    bench = Bench()
    tasks = [await bench.blocked()]
    tasks.append(await bench.start(Lane.QUESTION, "big1", "big2", "big3"))
    tasks.append(await bench.start(Lane.QUESTION, "small"))
    bench.go.set()
    await asyncio.gather(*tasks)
    assert bench.ran == ["big1", "small", "big2", "big3"]
    await bench.lanes.close()


async def test_documents_get_their_turn_under_a_flood_of_questions() -> None:
    bench = Bench()
    tasks = [await bench.blocked()]
    tasks.append(await bench.start(Lane.QUESTION, *(f"q{i}" for i in range(20))))
    tasks.append(await bench.start(Lane.DOCUMENT, "d1", "d2"))
    bench.go.set()
    await asyncio.gather(*tasks)
    assert bench.ran.index("d1") == QUESTIONS_IN_A_ROW
    assert bench.ran.index("d2") == 2 * QUESTIONS_IN_A_ROW + 1
    await bench.lanes.close()


async def test_a_full_line_refuses_and_says_when_to_come_back() -> None:
    bench = Bench(question_tokens=10, document_tokens=10)
    tasks = [await bench.blocked()]
    tasks.append(await bench.start(Lane.DOCUMENT, "a", "b", tokens=30))  # admitted: nothing waited before
    with pytest.raises(Overloaded) as caught:
        await bench.lanes.run(Lane.DOCUMENT, bench.jobs("c"))
    assert caught.value.reason == "OVERLOADED"
    assert caught.value.retry_after is not None
    assert 0.1 <= caught.value.retry_after <= 60
    tasks.append(await bench.start(Lane.QUESTION, "q"))  # the other line is not full
    bench.go.set()
    await asyncio.gather(*tasks)
    assert bench.ran == ["q", "a", "b"]
    assert await bench.lanes.run(Lane.DOCUMENT, bench.jobs("c")) == ["c"]
    await bench.lanes.close()


async def test_what_a_cancelled_caller_left_is_dropped_and_frees_its_place() -> None:
    bench = Bench(document_tokens=10)
    running = await bench.blocked()
    leaver = await bench.start(Lane.DOCUMENT, "x", "y", tokens=30)
    leaver.cancel()
    with pytest.raises(asyncio.CancelledError):
        await leaver
    stayer = await bench.start(Lane.DOCUMENT, "z")
    bench.go.set()
    await asyncio.gather(running, stayer)
    assert bench.ran == ["z"]
    await bench.lanes.close()


async def test_a_caller_who_leaves_during_its_job_does_not_stop_the_others() -> None:
    bench = Bench()
    running = await bench.blocked()
    other = await bench.start(Lane.DOCUMENT, "z")
    running.cancel()
    await asyncio.sleep(0)
    bench.go.set()
    assert await other == ["z"]
    await bench.lanes.close()


async def test_a_failing_job_fails_its_request_only() -> None:
    bench = Bench()
    running = await bench.blocked()

    def fail() -> str:
        raise ArithmeticError("broken")

    failing = asyncio.create_task(
        bench.lanes.run(Lane.DOCUMENT, [Job(1, fail), *bench.jobs("never", tokens=50)])
    )
    await asyncio.sleep(0)
    other = await bench.start(Lane.DOCUMENT, "z")
    bench.go.set()
    with pytest.raises(ArithmeticError):
        await failing
    assert await other == ["z"]
    await running
    assert "never" not in bench.ran
    assert await bench.lanes.run(Lane.DOCUMENT, bench.jobs("after")) == ["after"]
    await bench.lanes.close()


async def test_closing_refuses_what_waits_and_what_comes() -> None:
    bench = Bench()
    running = await bench.blocked()
    waiting = await bench.start(Lane.DOCUMENT, "z")
    bench.go.set()
    await bench.lanes.close()
    with pytest.raises(Unavailable):
        await waiting
    with pytest.raises(Unavailable):
        await bench.lanes.run(Lane.QUESTION, bench.jobs("late"))
    assert bench.ran == []
    running.cancel()
