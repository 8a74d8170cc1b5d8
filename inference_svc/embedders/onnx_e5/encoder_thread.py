"""The one thread in which the encoder works: takes batches from the lanes until nothing waits."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Generic, NamedTuple, TypeVar

import numpy as np
import structlog
from numpy.typing import NDArray

from inference_svc.embedders.lanes import EncoderLanes, Lane, Member, Request, TokenSequence, closed
from radref.errors import Internal, RadrefError

T = TypeVar("T")
Vectors = NDArray[np.float32]

log = structlog.get_logger()


class Encoded(NamedTuple, Generic[T]):
    """Results of the sequences of one request, in their order.

    `compute_seconds` adds up the batches that held one of them, each counted whole, encoding and taking.
    """

    results: list[T]
    compute_seconds: float


class _Outcome(NamedTuple):
    member: Member
    result: object
    error: Exception | None


class EncoderThread:
    """Runs token sequences through an encoder in batches. Belongs to one event loop.

    The thread makes its next batch by itself: between two batches it never waits for the event loop.

    Args:
        encode: a batch of id sequences to (tokens, hidden) vectors of each, in order. Called from one thread.
        lanes: where sequences wait; closed with it, and no other thread takes from it.
        batch_tokens: of a batch, padding included, >= 1.
    """

    def __init__(
        self,
        encode: Callable[[Sequence[NDArray[np.int64]]], Sequence[Vectors]],
        lanes: EncoderLanes,
        *,
        batch_tokens: int,
    ) -> None:
        self._encode, self._lanes, self._batch_tokens = encode, lanes, batch_tokens
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="encoder")

    async def run(self, lane: Lane, sequences: Sequence[TokenSequence[T]]) -> Encoded[T]:
        """Results of the sequences. When the caller is cancelled, what waits is dropped.

        Raises:
            Overloaded: too much waits already.
            Unavailable: closed.
            Internal: the encoder failed.
            Exception: whatever `take` of a sequence raised; the rest of the request is dropped.
        """
        if not sequences:
            return Encoded([], 0.0)
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def finished(error: BaseException | None) -> None:
            if done.done():
                return
            if error is None:
                done.set_result(None)
            else:
                done.set_exception(error)

        request = Request(lane, sequences, finished)
        if self._lanes.add(request):
            self._executor.submit(self._work, asyncio.get_running_loop())
        try:
            await done
        finally:
            self._lanes.drop(request)
        return Encoded(request.results, request.compute_seconds)  # type: ignore[arg-type]

    async def close(self) -> None:
        """Waits for the running batch, refuses what waits."""
        for request in self._lanes.close():
            request.fail(closed())
        await asyncio.to_thread(self._executor.shutdown)

    def _work(self, loop: asyncio.AbstractEventLoop) -> None:
        while batch := self._lanes.next_batch(self._batch_tokens):
            outcomes = self._outcomes(batch)
            for outcome in outcomes:
                if outcome.error is not None:
                    self._lanes.drop(outcome.member.request)
            loop.call_soon_threadsafe(_deliver, outcomes)

    def _outcomes(self, batch: Sequence[Member]) -> list[_Outcome]:
        began = time.perf_counter()
        try:
            vectors = self._encode([member.sequence.ids for member in batch])
            answered = list(zip(batch, vectors, strict=True))
        except Exception as exc:  # noqa: BLE001 - the boundary of a foreign runtime: its callers must hear of it
            return self._failed(batch, exc)
        self._lanes.computed(sum(len(member.sequence.ids) for member in batch), time.perf_counter() - began)
        outcomes = [_taken(member, own) for member, own in answered]
        seconds = time.perf_counter() - began
        for request in {member.request for member in batch}:
            request.compute_seconds += seconds
        return outcomes

    def _failed(self, batch: Sequence[Member], error: Exception) -> list[_Outcome]:
        """The error, or where strangers shared the batch each member again by itself: one may be at fault."""
        # Type only: the text of a foreign exception may quote its input.
        log.error("the encoder failed", error=type(error).__name__, sequences=len(batch))
        if any(member.request is not batch[0].request for member in batch):
            return [outcome for member in batch for outcome in self._outcomes([member])]
        if not isinstance(error, RadrefError):
            error = Internal(f"the embedder's model failed ({type(error).__name__})")
        return [_Outcome(member, None, error) for member in batch]


def _taken(member: Member, vectors: Vectors) -> _Outcome:
    try:
        return _Outcome(member, member.sequence.take(vectors), None)
    except Exception as exc:  # noqa: BLE001 - goes to the request it belongs to
        return _Outcome(member, None, exc)


def _deliver(outcomes: Iterable[_Outcome]) -> None:
    """In the event loop."""
    for outcome in outcomes:
        request: Request = outcome.member.request
        if outcome.error is None:
            request.put(outcome.member.index, outcome.result)
        else:
            request.fail(outcome.error)
