"""One model, two waiting lines: questions go before documents, and both lines are bounded.

A model that already uses every core gains nothing from running two batches at once, so one thread works
through small jobs. Requests of a line take turns, job by job: a single question never waits for the rest
of a large request, only for the job that is running.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import Enum
from typing import Generic, TypeVar

from radref.errors import Overloaded, Unavailable

T = TypeVar("T")

# So many question jobs in a row while documents wait, then one document job: no line starves.
QUESTIONS_IN_A_ROW = 8
# Until the first job was timed; the build machine needs 0.3 to 0.5 ms a token (DEPENDENCIES.md).
INITIAL_SECONDS_PER_TOKEN = 0.0005
# Weight of the newest job in the running mean of the speed.
_SMOOTHING = 0.1
_RETRY_BOUNDS = (0.1, 60.0)


class Lane(Enum):
    """Who waits."""

    QUESTION = "question"
    DOCUMENT = "document"


@dataclass(frozen=True, slots=True)
class Job(Generic[T]):
    """A piece of work for the model's thread, and its size in tokens (>= 1)."""

    tokens: int
    work: Callable[[], T]


class _Request:
    """The jobs of one caller and what came of them."""

    def __init__(self, lane: Lane, jobs: Sequence[Job[object]], done: asyncio.Future[list[object]]) -> None:
        self.lane = lane
        self.jobs = deque(enumerate(jobs))
        self.results: list[object] = [None] * len(jobs)
        self.unfinished = len(jobs)
        self.done = done
        self.arrived = time.monotonic()
        self.started = False


class EncoderLanes:
    """Runs jobs one at a time in a thread of its own. Belongs to one event loop.

    Args:
        question_tokens, document_tokens: a request is refused when at least so many tokens of its lane wait.
        observe_wait: called with the seconds that a request waited for its first job to start.
    """

    def __init__(
        self, *, question_tokens: int, document_tokens: int, observe_wait: Callable[[float], None]
    ) -> None:
        self._bounds = {Lane.QUESTION: question_tokens, Lane.DOCUMENT: document_tokens}
        self._waiting = {Lane.QUESTION: 0, Lane.DOCUMENT: 0}
        self._requests: dict[Lane, deque[_Request]] = {Lane.QUESTION: deque(), Lane.DOCUMENT: deque()}
        self._observe_wait = observe_wait
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="encoder")
        self._busy = False
        self._closed = False
        self._questions_in_a_row = 0
        self._seconds_per_token = INITIAL_SECONDS_PER_TOKEN

    async def run(self, lane: Lane, jobs: Sequence[Job[T]]) -> list[T]:
        """Results of the jobs, in their order. When the caller is cancelled, what has not begun is dropped.

        Raises:
            Overloaded: too much waits already; `retry_after` estimates when the line is empty.
            Unavailable: closed.
            Exception: whatever a job raised; the rest of the request is dropped.
        """
        if self._closed:
            raise closed()
        if self._waiting[lane] >= self._bounds[lane]:
            raise Overloaded(
                f"too many {lane.value}s wait for the embedder, try again later",
                retry_after=self._retry_after(lane),
            )
        if not jobs:
            return []
        done: asyncio.Future[list[T]] = asyncio.get_running_loop().create_future()
        request = _Request(lane, jobs, done)  # type: ignore[arg-type]
        self._waiting[lane] += sum(job.tokens for job in jobs)
        self._requests[lane].append(request)
        self._start_next()
        try:
            return await done
        finally:
            self._drop(request)

    async def close(self) -> None:
        """Waits for the running job, refuses the waiting ones."""
        self._closed = True
        for requests in self._requests.values():
            for request in tuple(requests):
                if not request.done.done():
                    request.done.set_exception(closed())
                self._drop(request)
        await asyncio.to_thread(self._executor.shutdown)

    def _retry_after(self, lane: Lane) -> float:
        ahead = self._waiting[Lane.QUESTION] + (self._waiting[lane] if lane is Lane.DOCUMENT else 0)
        return min(max(ahead * self._seconds_per_token, _RETRY_BOUNDS[0]), _RETRY_BOUNDS[1])

    def _start_next(self) -> None:
        lane = self._next_lane()
        if self._busy or lane is None:
            return
        requests = self._requests[lane]
        request = requests.popleft()
        index, job = request.jobs.popleft()
        if request.jobs:
            requests.append(request)
        self._waiting[lane] -= job.tokens
        overtaking = lane is Lane.QUESTION and self._requests[Lane.DOCUMENT]
        self._questions_in_a_row = self._questions_in_a_row + 1 if overtaking else 0
        if not request.started:
            request.started = True
            self._observe_wait(time.monotonic() - request.arrived)
        self._busy = True
        began = time.monotonic()
        running = asyncio.get_running_loop().run_in_executor(self._executor, job.work)
        running.add_done_callback(lambda finished: self._finish(request, index, job, began, finished))

    def _next_lane(self) -> Lane | None:
        questions, documents = self._requests[Lane.QUESTION], self._requests[Lane.DOCUMENT]
        if questions and not (documents and self._questions_in_a_row >= QUESTIONS_IN_A_ROW):
            return Lane.QUESTION
        return Lane.DOCUMENT if documents else None

    def _finish(
        self,
        request: _Request,
        index: int,
        job: Job[object],
        began: float,
        finished: asyncio.Future[object],
    ) -> None:
        self._busy = False
        speed = (time.monotonic() - began) / job.tokens
        self._seconds_per_token += _SMOOTHING * (speed - self._seconds_per_token)
        error = finished.exception() if not finished.cancelled() else closed()
        if not request.done.done():
            if error is not None:
                request.done.set_exception(error)
                self._drop(request)
            else:
                request.results[index] = finished.result()
                request.unfinished -= 1
                if request.unfinished == 0:
                    request.done.set_result(request.results)
        if not self._closed:
            self._start_next()

    def _drop(self, request: _Request) -> None:
        self._waiting[request.lane] -= sum(job.tokens for _, job in request.jobs)
        request.jobs.clear()
        if request in self._requests[request.lane]:
            self._requests[request.lane].remove(request)


def closed() -> Unavailable:
    """What a caller gets once the embedder is closed."""
    return Unavailable("the embedder is shutting down")
