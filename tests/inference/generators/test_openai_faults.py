"""A stream of a model server that breaks: a clear status, and nothing is sent twice to the caller."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from inference_svc.generators.generator import Delta, Finish, Summary
from radref.errors import Internal, Unavailable
from tests.inference.generators.openai_setup import (
    CHAT,
    failure,
    generator,
    pieces,
)
from tests.inference.openai_standin import Exchange, Script, Standin, standin


@pytest_asyncio.fixture
async def server() -> AsyncIterator[Standin]:
    async with standin() as made:
        yield made
        await made.idle()


def streamed(*raw: bytes, cut: bool = False) -> Script:
    async def script(exchange: Exchange) -> None:
        await exchange.begin()
        for piece in raw:
            await exchange.raw(piece)
        if cut:
            exchange.cut()
        else:
            await exchange.close_stream()

    return script


def event(content: str) -> bytes:
    return f"data: {content}\n\n".encode()


TEXT = event('{"choices": [{"index": 0, "delta": {"content": "20"}, "finish_reason": null}]}')
DONE = event("[DONE]")


@pytest.mark.parametrize(
    "script",
    [
        streamed(TEXT, DONE),
        streamed(TEXT),
        streamed(TEXT, cut=True),
        streamed(TEXT, b"data: {", cut=True),
        streamed(TEXT, event('{"choices": []}'), DONE),
        streamed(),
        streamed(DONE),
        streamed(event('{"choices": []}'), DONE),
        streamed(TEXT, event('{"error": {"message": "Internal server error", "code": 500}}'), DONE),
        streamed(TEXT, event('{"error": "died"}'), DONE),
        streamed(b"error: {}\n\n"),
    ],
)
async def test_an_answer_that_stops_in_the_middle(server: Standin, script: Script) -> None:
    server.on(CHAT, script)
    error = await failure(server.url)
    assert isinstance(error, Unavailable)
    assert "in the middle" in error.message


@pytest.mark.parametrize(
    "garbage",
    [
        event("{no json"),
        event("null"),
        event("42"),
        event("[1]"),
        event('"text"'),
        event("[" * 50_000),
        event('{"choices": null}'),
        event('{"choices": {}}'),
        event('{"something": "else"}'),
        event('{"choices": ["text"]}'),
        event('{"choices": [{"delta": "text"}]}'),
        event('{"choices": [{"delta": {"content": ["text"]}}]}'),
        event('{"choices": [{"delta": {"content": 20}}]}'),
        event('{"choices": [{"delta": {"content": "\\ud800"}}]}'),
        event('{"choices": [{"delta": {"content": "a"}}, {"delta": {"content": "b"}}]}'),
        event('{"choices": [{"delta": {}, "finish_reason": 1}]}'),
        event('{"choices": [], "usage": {"prompt_tokens": -1}}'),
        event('{"choices": [], "usage": {"prompt_tokens": 99999999999}}'),
        b"data: \xff\xfe\n\n",
    ],
)
@pytest.mark.parametrize("before", [b"", TEXT])
async def test_garbage(server: Standin, garbage: bytes, before: bytes) -> None:
    server.on(CHAT, streamed(before + garbage, DONE))
    assert isinstance(await failure(server.url), Internal)
    assert len(server.seen) == 1


@pytest.mark.parametrize(
    "body",
    [b"<html>welcome</html>", b"", b'{"choices": [{"message": {"content": "not streamed"}}]}', b"\xff"],
)
@pytest.mark.parametrize("kind", ["text/html", "application/json"])
async def test_an_answer_that_is_no_stream(server: Standin, body: bytes, kind: str) -> None:
    async def script(exchange: Exchange) -> None:
        await exchange.answer(200, body, kind=kind)

    server.on(CHAT, script)
    assert isinstance(await failure(server.url), Internal)


async def test_no_http_at_all(server: Standin) -> None:
    async def script(exchange: Exchange) -> None:
        exchange.writer.write(b"\x00\x01\x02 nonsense\r\n\r\n")
        await exchange.writer.drain()
        exchange.cut()

    server.on(CHAT, script)
    assert isinstance(await failure(server.url), Unavailable)


@pytest.mark.parametrize("bad_end", [[b"data: {\n\n"], [event('{"error": "x"}')], [b"data: {"]])
async def test_a_whole_answer_survives_a_bad_end(server: Standin, bad_end: list[bytes]) -> None:
    finish = event('{"choices": [{"delta": {}, "finish_reason": "stop"}]}')
    server.on(CHAT, streamed(TEXT, finish, *bad_end, cut=True))
    made = generator(server.url)
    assert await pieces(made) == [Delta("20"), Summary(Finish.STOP, 0, 0)]
    await made.close()
