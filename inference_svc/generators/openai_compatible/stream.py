"""One attempt at a streamed chat completion: every way in which it can end, within its time limits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from dataclasses import dataclass

import openai
import structlog
from openai import AsyncOpenAI, AsyncStream

from inference_svc.generators.openai_compatible.chunks import Chunk, Delta, Usage, read_chunk
from inference_svc.model_server.failure import (
    Failed,
    cut_off,
    failed_call,
    garbage,
    stuck,
    too_late,
)

# The usage follows right after the end of the answer; who has the answer does not wait longer for it.
_USAGE_SECONDS = 2.0
_STREAM_TYPE = "text/event-stream"

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Content:
    """The next piece of what the model writes, thinking included that stands in it."""

    text: str


@dataclass(frozen=True, slots=True)
class Reasoning:
    """The server sent thinking in a field of its own; its text is dropped here."""


@dataclass(frozen=True, slots=True)
class Ended:
    """The answer is complete.

    Attributes:
        finish_reason: the server's word for why.
        prompt_tokens, completion_tokens: 0 where the server does not tell.
    """

    finish_reason: str
    prompt_tokens: int
    completion_tokens: int


Event = Content | Reasoning | Ended


async def stream_chat(
    client: AsyncOpenAI, body: dict[str, object], *, backend: str, deadline: float, idle: float
) -> AsyncGenerator[Event, None]:
    """Sends the request once; closing the iterator, or its end of any kind, closes the HTTP exchange.

    Args:
        client: connected to the server.
        body: of POST /chat/completions.
        backend: names the model in messages, e.g. "language model qwen3".
        deadline: loop time by which all must be over.
        idle: longest silence in seconds, before the first piece of the answer and between two.

    Yields:
        Content and Reasoning in order, then exactly one Ended.

    Raises:
        Failed: everything else that may happen.
    """
    silent_until = min(deadline, asyncio.get_running_loop().time() + idle)
    stream = await _opened(client, body, backend, deadline, silent_until)
    try:
        if not stream.response.headers.get("content-type", "").startswith(_STREAM_TYPE):
            raise garbage(backend)
        async with aclosing(_events(stream, backend, deadline, silent_until, idle)) as events:
            async for event in events:
                yield event
    finally:
        await stream.close()


async def _opened(
    client: AsyncOpenAI, body: dict[str, object], backend: str, deadline: float, limit: float
) -> AsyncStream[object]:
    try:
        async with asyncio.timeout_at(limit):
            return await client.post(
                "/chat/completions", cast_to=object, body=body, stream=True, stream_cls=AsyncStream[object]
            )
    except TimeoutError:
        raise _silent(backend, limit >= deadline, answering=False) from None
    except openai.APIError as exc:
        raise failed_call(exc, backend, answering=False, field="messages") from None


async def _events(
    stream: AsyncStream[object], backend: str, deadline: float, limit: float, idle: float
) -> AsyncGenerator[Event, None]:
    clock = asyncio.get_running_loop().time
    usage = Usage()
    finish: str | None = None
    answering = False
    while finish is None:
        try:
            chunk = await _next(stream, backend, limit, answering=answering)
        except TimeoutError:
            raise _silent(backend, limit >= deadline, answering=answering) from None
        if chunk is None:
            raise cut_off(backend)
        usage = chunk.usage or usage
        for choice in chunk.choices:
            answering = True
            limit = min(deadline, clock() + idle)
            finish = choice.finish_reason or None
            for event in _told(choice.delta or Delta()):
                yield event
    usage = await _rest(stream, usage, backend, min(deadline, clock() + _USAGE_SECONDS))
    yield Ended(finish, usage.prompt_tokens or 0, usage.completion_tokens or 0)


def _silent(backend: str, deadline_passed: bool, *, answering: bool) -> Failed:
    return too_late(backend) if deadline_passed else stuck(backend, answering=answering)


def _told(delta: Delta) -> Iterator[Event]:
    if delta.reasoning or delta.reasoning_content:
        yield Reasoning()
    if delta.content:
        yield Content(delta.content)


async def _rest(stream: AsyncStream[object], usage: Usage, backend: str, limit: float) -> Usage:
    """The usage, which most servers send last. Reads to the end: the connection can then be used again."""
    try:
        while (chunk := await _next(stream, backend, limit, answering=True)) is not None:
            usage = chunk.usage or usage
    except (Failed, TimeoutError) as exc:
        # The answer itself is whole; only its token counts may be missing.
        log.warning("a model server did not end its stream", backend=backend, cause=type(exc).__name__)
    return usage


async def _next(stream: AsyncStream[object], backend: str, limit: float, *, answering: bool) -> Chunk | None:
    """The next chunk; None at the end of the stream.

    Raises:
        TimeoutError: nothing came until `limit`, a loop time.
        Failed: what came is no chunk.
    """
    try:
        async with asyncio.timeout_at(limit):
            data = await anext(stream)
    except StopAsyncIteration:
        return None
    except openai.APIError as exc:
        raise failed_call(exc, backend, answering=answering, field="messages") from None
    except (ValueError, RecursionError):  # an event that is no JSON, or no UTF-8
        raise garbage(backend) from None
    chunk = read_chunk(data)
    if chunk is None:
        raise garbage(backend)
    return chunk
