"""One call of the public client, and how it ended."""

from __future__ import annotations

import time
from collections.abc import Awaitable
from dataclasses import dataclass

from radref.api.gateway.v1 import gateway_pb2
from radref.client import RadrefClient
from radref.errors import RadrefError
from radref.service.status import code_of

KINDS = ("generate", "search")
TIMEOUT_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Call:
    """How a call ended.

    Attributes:
        kind: "generate", "search", or what else the caller calls it.
        question: its text; empty where there is none.
        began: when it was due, seconds on the clock of time.perf_counter.
        milliseconds: from then until its end, > 0.
        code: gRPC status code, "OK" for an answer.
        reason: of the error, without prefix; empty for an answer.
        retry_after: seconds as the error says; None = not said.
        answer: what Generate answered; None for errors and searches.
    """

    kind: str
    question: str
    began: float
    milliseconds: float
    code: str
    reason: str = ""
    retry_after: float | None = None
    answer: gateway_pb2.GenerateResponse | None = None

    @property
    def ended(self) -> float:
        """Seconds on the same clock."""
        return self.began + self.milliseconds / 1000


async def call(client: RadrefClient, kind: str, question: str, *, due: float | None = None) -> Call:
    """Generate or Search. `due`: when it should have been asked; what the asker is late counts too."""
    if kind == "generate":
        return await timed(kind, client.generate(question, timeout=TIMEOUT_SECONDS), question, due=due)
    return await timed(kind, client.search(question, timeout=TIMEOUT_SECONDS), question, due=due)


async def timed(
    kind: str, awaited: Awaitable[object], question: str = "", *, due: float | None = None
) -> Call:
    """Any call of the client, with its end; arguments as in Call."""
    began = time.perf_counter() if due is None else due
    try:
        answer = await awaited
    except RadrefError as error:
        milliseconds = (time.perf_counter() - began) * 1000
        return Call(kind, question, began, milliseconds, code_of(error).name, error.reason, error.retry_after)
    milliseconds = (time.perf_counter() - began) * 1000
    kept = answer if isinstance(answer, gateway_pb2.GenerateResponse) else None
    return Call(kind, question, began, milliseconds, "OK", answer=kept)
