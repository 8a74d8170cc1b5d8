"""The encoder's thread: batches, results and faults find their way back to who sent them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.typing import NDArray

from inference_svc.embedders.lanes import EncoderLanes, Lane, TokenSequence
from inference_svc.embedders.onnx_e5 import encoder_thread
from inference_svc.embedders.onnx_e5.encoder_thread import EncoderThread
from radref.errors import Internal, InvalidInput, Overloaded, Unavailable

Ids = NDArray[np.int64]
POISON = 666


class Model:
    """An encoder whose first pass waits for `go`; the vectors of a token are its id, twice."""

    def __init__(self) -> None:
        self.go, self.begun = threading.Event(), threading.Event()
        self.batches: list[list[list[int]]] = []

    def __call__(self, sequences: Sequence[Ids]) -> list[NDArray[np.float32]]:
        self.batches.append([ids.tolist() for ids in sequences])
        self.begun.set()
        assert self.go.wait(30)
        if any(POISON in ids for ids in sequences):
            raise ValueError("indices element out of data bounds, idx=666")
        return [np.stack([ids, ids], axis=1).astype(np.float32) for ids in sequences]


def bench(
    *, question_tokens: int = 10_000, document_tokens: int = 10_000, batch_tokens: int = 64
) -> tuple[Model, EncoderThread, list[float]]:
    model, computes = Model(), []
    lanes = EncoderLanes(
        question_tokens=question_tokens,
        document_tokens=document_tokens,
        observe_wait=lambda _: None,
        observe_compute=computes.append,
    )
    return model, EncoderThread(model, lanes, batch_tokens=batch_tokens), computes


def total(vectors: NDArray[np.float32]) -> float:
    return float(vectors[:, 0].sum())


def sequence(*ids: int, take: Callable[[NDArray[np.float32]], float] = total) -> TokenSequence[float]:
    return TokenSequence(np.array(ids, np.int64), take)


async def results(
    thread: EncoderThread, lane: Lane, sequences: Sequence[TokenSequence[float]]
) -> list[float]:
    return (await thread.run(lane, sequences)).results


async def blocked(model: Model, thread: EncoderThread) -> asyncio.Task[list[float]]:
    """A pass that runs, so that what comes next has to wait."""
    task = asyncio.create_task(results(thread, Lane.DOCUMENT, [sequence(1)]))
    await asyncio.to_thread(model.begun.wait, 30)
    return task


async def started(
    thread: EncoderThread, *sequences: TokenSequence[float], lane: Lane = Lane.QUESTION
) -> asyncio.Task[list[float]]:
    task = asyncio.create_task(results(thread, lane, sequences))
    await asyncio.sleep(0)
    return task


async def test_results_come_in_the_order_of_the_sequences() -> None:
    model, thread, computes = bench(batch_tokens=4)
    model.go.set()
    found = await results(thread, Lane.DOCUMENT, [sequence(*[n] * (1 + n % 3)) for n in range(1, 20)])
    assert found == [float(n * (1 + n % 3)) for n in range(1, 20)]
    assert await results(thread, Lane.QUESTION, []) == []
    assert len(computes) == len(model.batches) < 19
    await thread.close()


async def test_what_arrives_during_a_pass_goes_into_the_next_one_together() -> None:
    model, thread, _ = bench()
    first = await blocked(model, thread)
    callers = [await started(thread, sequence(n, n)) for n in range(16)]
    model.go.set()
    assert await asyncio.gather(first, *callers) == [[1.0], *([2.0 * n] for n in range(16))]
    assert [len(batch) for batch in model.batches] == [1, 16]
    await thread.close()


async def test_a_lone_sequence_does_not_wait_for_company() -> None:
    model, thread, _ = bench()
    caller = await started(thread, sequence(7))
    assert await asyncio.to_thread(model.begun.wait, 30)
    model.go.set()
    assert await caller == [7.0]
    await thread.close()


async def test_the_time_of_every_batch_counts_whole_and_waiting_does_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A clock that only the encoder moves: four seconds a pass."""
    now = 0.0

    def encode(sequences: Sequence[Ids]) -> list[NDArray[np.float32]]:
        nonlocal now
        vectors = model(sequences)
        now += 4.0
        return vectors

    monkeypatch.setattr(encoder_thread, "time", SimpleNamespace(perf_counter=lambda: now))
    model = Model()
    lanes = EncoderLanes(question_tokens=100, document_tokens=100, observe_wait=lambda _: None)
    thread = EncoderThread(encode, lanes, batch_tokens=8)
    first = await blocked(model, thread)
    calls = [
        asyncio.create_task(thread.run(Lane.QUESTION, [sequence(2, 2)])),
        asyncio.create_task(thread.run(Lane.QUESTION, [sequence(3, 3), sequence(*[4] * 8)])),
    ]
    await asyncio.sleep(0)
    model.go.set()
    await first
    assert [(await call).compute_seconds for call in calls] == [4.0, 8.0]
    assert model.batches == [[[1]], [[2, 2], [3, 3]], [[4] * 8]]
    assert (await thread.run(Lane.QUESTION, [])).compute_seconds == 0
    await thread.close()


async def test_a_full_line_refuses() -> None:
    model, thread, _ = bench(question_tokens=2)
    first = await blocked(model, thread)
    waiting = await started(thread, sequence(1, 2, 3))
    with pytest.raises(Overloaded):
        await results(thread, Lane.QUESTION, [sequence(1)])
    model.go.set()
    await asyncio.gather(first, waiting)
    await thread.close()


async def test_what_a_cancelled_caller_left_is_not_encoded() -> None:
    model, thread, _ = bench()
    first = await blocked(model, thread)
    leaver, stayer = await started(thread, sequence(8, 8)), await started(thread, sequence(9, 9))
    leaver.cancel()
    with pytest.raises(asyncio.CancelledError):
        await leaver
    model.go.set()
    assert await asyncio.gather(first, stayer) == [[1.0], [18.0]]
    assert model.batches == [[[1]], [[9, 9]]]
    await thread.close()


async def test_a_caller_who_leaves_during_its_pass_does_not_stop_the_others() -> None:
    model, thread, _ = bench()
    running = await blocked(model, thread)
    other = await started(thread, sequence(9))
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    model.go.set()
    assert await other == [9.0]
    await thread.close()


async def test_a_failing_take_fails_its_own_request_only_and_drops_its_rest() -> None:
    def refuse(_: NDArray[np.float32]) -> float:
        raise Internal("the embedder computed a vector that is not finite")

    model, thread, _ = bench()
    first = await blocked(model, thread)
    failing = await started(thread, sequence(*[1] * 60, take=refuse), sequence(4, 4))
    other = await started(thread, sequence(5, 5))
    model.go.set()
    with pytest.raises(Internal, match="not finite"):
        await failing
    assert await other == [10.0]
    await first
    later = await results(thread, Lane.QUESTION, [sequence(6)])
    assert later == [6.0]
    assert not any(4 in ids for batch in model.batches for ids in batch)
    await thread.close()


async def test_a_failing_batch_is_told_apart() -> None:
    model, thread, _ = bench()
    first = await blocked(model, thread)
    callers = [await started(thread, sequence(n, n)) for n in (5, POISON, 7)]
    model.go.set()
    five, poisoned, seven = await asyncio.gather(*callers, return_exceptions=True)
    assert (five, seven) == ([10.0], [14.0])
    assert isinstance(poisoned, Internal)
    assert "idx" not in poisoned.message  # the text of a foreign exception may quote its input
    await first
    await thread.close()


async def test_the_error_of_a_single_request_is_not_tried_again() -> None:
    model, thread, _ = bench()
    first = await blocked(model, thread)
    failing = await started(thread, sequence(POISON), sequence(2), sequence(3))
    model.go.set()
    with pytest.raises(Internal, match="ValueError"):
        await failing
    await first
    assert [len(batch) for batch in model.batches] == [1, 3]
    await thread.close()


async def test_an_encoder_that_forgets_a_sequence_is_noticed() -> None:
    lanes = EncoderLanes(question_tokens=100, document_tokens=100, observe_wait=lambda _: None)
    thread = EncoderThread(lambda sequences: [], lanes, batch_tokens=64)
    with pytest.raises(Internal):
        await results(thread, Lane.QUESTION, [sequence(1)])
    await thread.close()


async def test_errors_of_ours_keep_their_reason() -> None:
    def encode(_: Sequence[Ids]) -> list[NDArray[np.float32]]:
        raise InvalidInput("too long", reason="TEXT_TOO_LONG")

    lanes = EncoderLanes(question_tokens=100, document_tokens=100, observe_wait=lambda _: None)
    thread = EncoderThread(encode, lanes, batch_tokens=64)
    with pytest.raises(InvalidInput) as caught:
        await results(thread, Lane.QUESTION, [sequence(1)])
    assert caught.value.reason == "TEXT_TOO_LONG"
    await thread.close()


async def test_closing_waits_for_the_pass_and_refuses_the_rest() -> None:
    model, thread, _ = bench()
    running = await blocked(model, thread)
    waiting = await started(thread, sequence(5))
    closing = asyncio.create_task(thread.close())
    with pytest.raises(Unavailable):
        await waiting
    assert not closing.done()
    model.go.set()
    await closing
    assert await running == [1.0]
    with pytest.raises(Unavailable):
        await results(thread, Lane.QUESTION, [sequence(1)])
    assert model.batches == [[[1]]]


async def test_many_callers_who_come_and_go_all_get_their_own() -> None:
    model, thread, computes = bench(batch_tokens=48)
    model.go.set()

    async def caller(number: int) -> None:
        for round_ in range(20):
            lane = Lane.QUESTION if number % 3 else Lane.DOCUMENT
            sizes = [1 + (number + round_ + i) % 17 for i in range(1 + number % 4)]
            call = asyncio.create_task(results(thread, lane, [sequence(*[number] * size) for size in sizes]))
            if (number + round_) % 7 == 0:
                await asyncio.sleep(0)
                call.cancel()
                await asyncio.gather(call, return_exceptions=True)
            else:
                assert await call == [float(number * size) for size in sizes]

    await asyncio.gather(*(caller(number) for number in range(1, 40)))
    assert len(computes) == len(model.batches)
    assert max(map(len, model.batches)) > 1
    await thread.close()
