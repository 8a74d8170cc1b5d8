"""What waits for one encoder: questions before documents, both lines bounded, batches across requests.

An encoder that already uses every core gains nothing from two batches at once, so there is one batch at a
time, made at the moment at which the encoder is free. It starts with the sequence whose turn it is and is
filled up with sequences of the same line and of about the same length, whoever sent them. Nothing is ever
held back in the hope of company: a lone question starts at once.
"""

from __future__ import annotations

import threading
import time
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from radref.errors import Overloaded, Unavailable

T_co = TypeVar("T_co", covariant=True)

# So many question batches in a row while documents wait, then one document batch: no line starves.
QUESTIONS_IN_A_ROW = 8
# A pass of the encoder costs as much as about 16 tokens before it reads the first one (docs/performance.md),
# so company that adds less padding than that is worth it. Half of it: who waits for company must gain.
MAX_ADDED_PADDING = 8
# Until the first batch was timed; the build machine needs 0.3 to 0.5 ms a token (docs/performance.md).
INITIAL_SECONDS_PER_TOKEN = 0.0005
# Weight of the newest batch in the running mean of the speed.
_SMOOTHING = 0.1
_RETRY_BOUNDS = (0.1, 60.0)


class Lane(Enum):
    """Who waits."""

    QUESTION = "question"
    DOCUMENT = "document"


class TokenSequence(NamedTuple, Generic[T_co]):
    """Tokens for one pass of the encoder, and what becomes of their vectors.

    Attributes:
        ids: int64, special tokens included, >= 1 of them.
        take: (tokens, hidden) float32 vectors of one finished pass to the result; runs in the encoder's
            thread, and what it raises fails its own request only.
    """

    ids: NDArray[np.int64]
    take: Callable[[NDArray[np.float32]], T_co]


class Request:
    """The sequences of one caller: those that wait, longest last, and what came of the others.

    Waiting ones belong to the lanes (under their lock), results to the caller's event loop, and the seconds
    of its batches to the encoder's thread until the request is finished.

    Args:
        lane: where it waits.
        sequences: at least one.
        finished: called with the error, or None once every result is in, from where results are put in;
            again for every further error.
    """

    def __init__(
        self,
        lane: Lane,
        sequences: Sequence[TokenSequence[object]],
        finished: Callable[[BaseException | None], None],
    ) -> None:
        self.lane = lane
        self.sequences = sequences
        self.waiting = sorted(range(len(sequences)), key=lambda index: len(sequences[index].ids))
        self.lengths = [len(sequences[index].ids) for index in self.waiting]
        self.results: list[object] = [None] * len(sequences)
        self.unfinished = len(sequences)
        self.arrived = time.monotonic()
        self.started = False
        self.compute_seconds = 0.0
        self._finished = finished

    def put(self, index: int, result: object) -> None:
        """Keeps one result; with the last one the request is finished."""
        self.results[index] = result
        self.unfinished -= 1
        if self.unfinished == 0:
            self._finished(None)

    def fail(self, error: BaseException) -> None:
        """Finishes the request with an error."""
        self._finished(error)


@dataclass(frozen=True, slots=True)
class Member:
    """One sequence of a batch: whose, and which of its sequences."""

    request: Request
    index: int

    @property
    def sequence(self) -> TokenSequence[object]:
        return self.request.sequences[self.index]


class EncoderLanes:
    """The two waiting lines. Thread-safe: callers add and drop, the encoder's thread takes.

    Args:
        question_tokens, document_tokens: a request is refused when at least so many tokens of its lane
            wait already.
        observe_wait: called with the seconds that a request waited for its first sequence to start.
        observe_compute: called with the seconds that the encoder worked on a batch. Both are called from
            the encoder's thread.
    """

    def __init__(
        self,
        *,
        question_tokens: int,
        document_tokens: int,
        observe_wait: Callable[[float], None],
        observe_compute: Callable[[float], None] | None = None,
    ) -> None:
        self._bounds = {Lane.QUESTION: question_tokens, Lane.DOCUMENT: document_tokens}
        self._waiting = {Lane.QUESTION: 0, Lane.DOCUMENT: 0}
        self._requests: dict[Lane, deque[Request]] = {Lane.QUESTION: deque(), Lane.DOCUMENT: deque()}
        self._observe_wait = observe_wait
        self._observe_compute = observe_compute
        self._lock = threading.Lock()
        self._taken_care_of = False
        self._closed = False
        self._questions_in_a_row = 0
        self._seconds_per_token = INITIAL_SECONDS_PER_TOKEN

    def add(self, request: Request) -> bool:
        """Puts a request at the end of its line. True when nobody takes batches: the caller must see to it.

        Raises:
            Overloaded: too much waits already; `retry_after` estimates when the line is empty.
            Unavailable: closed.
        """
        lane = request.lane
        with self._lock:
            if self._closed:
                raise closed()
            if self._waiting[lane] >= self._bounds[lane]:
                raise Overloaded(
                    f"too many {lane.value}s wait for the embedder, try again later",
                    retry_after=self._retry_after(lane),
                )
            self._waiting[lane] += sum(request.lengths)
            self._requests[lane].append(request)
            start, self._taken_care_of = not self._taken_care_of, True
        return start

    def drop(self, request: Request) -> None:
        """Forgets what has not begun of a request."""
        with self._lock:
            if request.waiting:
                self._waiting[request.lane] -= sum(request.lengths)
                request.waiting.clear()
                request.lengths.clear()
                self._requests[request.lane].remove(request)

    def next_batch(self, max_tokens: int) -> list[Member]:
        """Takes the next batch out of the lines; nothing when nothing waits, and whoever asked may leave.

        Args:
            max_tokens: of a batch, padding included; a longer sequence is a batch of its own.
        """
        with self._lock:
            lane = self._next_lane()
            if lane is None:
                self._taken_care_of = False
                return []
            overtaking = lane is Lane.QUESTION and self._requests[Lane.DOCUMENT]
            self._questions_in_a_row = self._questions_in_a_row + 1 if overtaking else 0
            batch = _filled(self._requests[lane], max_tokens)
            self._waiting[lane] -= sum(len(member.sequence.ids) for member in batch)
            beginners = list({id(m.request): m.request for m in batch if not m.request.started}.values())
            for request in beginners:
                request.started = True
        now = time.monotonic()
        for request in beginners:
            self._observe_wait(now - request.arrived)
        return batch

    def computed(self, tokens: int, seconds: float) -> None:
        """Learns the encoder's speed from a finished batch of so many tokens, padding not counted."""
        if self._observe_compute is not None:
            self._observe_compute(seconds)
        with self._lock:
            self._seconds_per_token += _SMOOTHING * (seconds / tokens - self._seconds_per_token)

    def close(self) -> list[Request]:
        """Refuses whatever comes from now on; the requests of which something still waited, forgotten."""
        with self._lock:
            self._closed = True
            waiting = [request for requests in self._requests.values() for request in requests]
        for request in waiting:
            self.drop(request)
        return waiting

    def _retry_after(self, lane: Lane) -> float:
        ahead = self._waiting[Lane.QUESTION] + (self._waiting[lane] if lane is Lane.DOCUMENT else 0)
        return min(max(ahead * self._seconds_per_token, _RETRY_BOUNDS[0]), _RETRY_BOUNDS[1])

    def _next_lane(self) -> Lane | None:
        questions, documents = self._requests[Lane.QUESTION], self._requests[Lane.DOCUMENT]
        if questions and not (documents and self._questions_in_a_row >= QUESTIONS_IN_A_ROW):
            return Lane.QUESTION
        return Lane.DOCUMENT if documents else None


def _filled(requests: deque[Request], max_tokens: int) -> list[Member]:
    """The longest sequence of the first request, which goes to the end of the line, and fitting company.

    Company is taken in turns, one sequence a request, so that no large request fills the batch alone.
    Requests that are left without sequences leave the line.
    """
    head = requests[0]
    width = head.lengths[-1]
    batch = [_take(head, len(head.lengths) - 1)]
    candidates = list(requests)
    while candidates:
        joined = []
        for request in candidates:
            at = _company(request.lengths, width, len(batch), max_tokens)
            if at is not None:
                width = max(width, request.lengths[at])
                batch.append(_take(request, at))
                joined.append(request)
        candidates = joined
    requests.rotate(-1)
    left = [request for request in requests if request.waiting]
    requests.clear()
    requests.extend(left)
    return batch


def _company(lengths: list[int], width: int, rows: int, max_tokens: int) -> int | None:
    """Which of the ascending lengths adds the least padding to a batch of `rows` rows; None = none fits."""
    longer = bisect_right(lengths, width)
    shorter_padding = width - lengths[longer - 1] if longer else None
    longer_padding = rows * (lengths[longer] - width) if longer < len(lengths) else None
    found: int | None = None
    least = MAX_ADDED_PADDING
    if shorter_padding is not None and shorter_padding <= least and width * (rows + 1) <= max_tokens:
        found, least = longer - 1, shorter_padding
    if (
        longer_padding is not None
        and longer_padding <= least
        and (found is None or longer_padding < least)
        and lengths[longer] * (rows + 1) <= max_tokens
    ):
        found = longer
    return found


def _take(request: Request, at: int) -> Member:
    del request.lengths[at]
    return Member(request, request.waiting.pop(at))


def closed() -> Unavailable:
    """What a caller gets once the embedder is closed."""
    return Unavailable("the embedder is shutting down")
