"""No model server keeps a caller waiting, and no caller who left keeps a model server working."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import aclosing

import pytest
import pytest_asyncio

from inference_svc.generators.generator import Delta
from radref.errors import DeadlineExceeded, Overloaded, RadrefError, Unavailable
from radref.service.context import Call, set_current_call
from tests.inference.generators.openai_setup import (
    CHAT,
    asked,
    failure,
    generator,
    pieces,
    places,
    stalls,
    text,
    writes,
)
from tests.inference.openai_standin import Exchange, Standin, standin


@pytest_asyncio.fixture
async def server() -> AsyncIterator[Standin]:
    async with standin() as made:
        yield made
        await made.idle()


async def test_a_server_that_gets_stuck(server: Standin) -> None:
    server.on(CHAT, stalls)
    error = await failure(server.url, idle=1.0)
    assert isinstance(error, Unavailable)
    await server.idle()
    assert server.aborted == 1


@pytest.mark.parametrize("begins", [False, True])
async def test_a_server_that_never_begins(server: Standin, begins: bool) -> None:
    async def script(exchange: Exchange) -> None:
        if begins:
            await exchange.begin()
        await exchange.hang()

    server.on(CHAT, script)
    assert isinstance(await failure(server.url, idle=1.0), Unavailable)
    await server.idle()
    assert (len(server.seen), server.aborted) == (1, 1)


async def test_signs_of_life_are_no_answer(server: Standin) -> None:
    async def script(exchange: Exchange) -> None:
        await exchange.begin()
        await exchange.content("20")
        while True:
            await exchange.raw(b": keep-alive\n\n")
            await exchange.event('{"choices": []}')
            await asyncio.sleep(0.01)

    server.on(CHAT, script)
    assert isinstance(await failure(server.url, idle=0.2), Unavailable)


@pytest.mark.parametrize("begins", [False, True])
async def test_the_deadline_before_an_answer(server: Standin, begins: bool) -> None:
    async def script(exchange: Exchange) -> None:
        if begins:
            await exchange.begin()
        await exchange.hang()

    server.on(CHAT, script)
    assert isinstance(await failure(server.url, timeout=0.2), DeadlineExceeded)
    await server.idle()
    assert server.aborted == 1


async def test_the_callers_deadline_ends_the_generation_there(server: Standin) -> None:
    async def script(exchange: Exchange) -> None:
        await exchange.begin()
        while True:
            await exchange.content("20")
            await asyncio.sleep(0.01)

    async def called() -> RadrefError:
        set_current_call(Call("id", "/m", time.monotonic() + 0.3))
        return await failure(server.url, timeout=60.0)

    server.on(CHAT, script)
    assert isinstance(await asyncio.create_task(called()), DeadlineExceeded)
    await server.idle()
    assert server.aborted == 1


async def test_a_caller_that_closes_the_iterator(server: Standin) -> None:
    server.on(CHAT, stalls)
    made = generator(server.url)
    async with aclosing(made.generate(asked())) as found:
        assert await anext(found) == Delta("Пре")
    await server.idle()
    assert server.aborted == 1
    await made.close()


@pytest.mark.parametrize("begins", [False, True])
async def test_a_caller_that_is_cancelled(server: Standin, begins: bool) -> None:
    async def hangs(exchange: Exchange) -> None:
        await exchange.hang()

    server.on(CHAT, stalls if begins else hangs)
    only = places(1, 0)
    made = generator(server.url, places=only)
    task = asyncio.create_task(pieces(made))
    while not server.open_requests:
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await server.idle()
    assert server.aborted == 1
    server.on(CHAT, writes("20"))
    assert await text(made) == "20"  # its place is free again
    await made.close()


async def test_closing_ends_what_runs(server: Standin) -> None:
    server.on(CHAT, stalls)
    made = generator(server.url)
    task = asyncio.create_task(pieces(made))
    while not server.open_requests:
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.05)
    await made.close()
    with pytest.raises(Unavailable):
        await task
    with pytest.raises(Unavailable):
        await pieces(made)
    with pytest.raises(Unavailable):
        await made.check()


async def test_many_at_once_and_no_more_than_there_are_places(server: Standin) -> None:
    most = 0

    async def script(exchange: Exchange) -> None:
        nonlocal most
        most = max(most, server.open_requests)
        await exchange.begin()
        for piece in ("20", " мЗв", " в год"):
            await exchange.content(piece)
            await asyncio.sleep(0.005)
        await exchange.end()

    server.on(CHAT, script)
    made = generator(server.url, places=places(16, 48))
    answers = await asyncio.gather(*(text(made) for _ in range(64)))
    assert set(answers) == {"20 мЗв в год"}
    assert 1 < most <= 16
    await made.close()


async def test_refuses_beyond_places_and_queue(server: Standin) -> None:
    server.on(CHAT, stalls)
    made = generator(server.url, places=places(2, 3))
    tasks = [asyncio.create_task(pieces(made)) for _ in range(5)]
    while server.open_requests < 2:
        await asyncio.sleep(0.01)
    with pytest.raises(Overloaded) as caught:
        await pieces(made)
    assert caught.value.retry_after
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await made.close()


async def test_the_deadline_holds_in_the_queue_too(server: Standin) -> None:
    server.on(CHAT, stalls)
    taken = places(1, 1)
    made = generator(server.url, places=taken, timeout=0.3)
    async with taken.place():
        with pytest.raises(DeadlineExceeded):
            await pieces(made)
    assert not server.seen
    await made.close()
