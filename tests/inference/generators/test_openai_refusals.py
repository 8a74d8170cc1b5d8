"""A server that refuses, or is not there: a clear status, sent again where that may help."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from email.utils import formatdate

import pytest
import pytest_asyncio

from inference_svc.generators.generator import Delta, Finish, Summary
from radref.errors import InvalidInput, Overloaded, RadrefError, Unavailable
from tests.inference.generators.openai_setup import (
    CHAT,
    failure,
    generator,
    pieces,
    refuses,
    text,
    writes,
)
from tests.inference.openai_standin import Exchange, Standin, chunk, standin


@pytest_asyncio.fixture
async def server() -> AsyncIterator[Standin]:
    async with standin() as made:
        yield made
        await made.idle()


@pytest.mark.parametrize(
    ("status", "kind", "attempts"),
    [
        (301, Unavailable, 1),
        (400, Unavailable, 1),
        (401, Unavailable, 1),
        (403, Unavailable, 1),
        (404, Unavailable, 1),
        (405, Unavailable, 1),
        (413, InvalidInput, 1),
        (422, Unavailable, 1),
        (429, Overloaded, 3),
        (500, Unavailable, 1),
        (502, Unavailable, 3),
        (503, Overloaded, 3),
        (504, Unavailable, 3),
    ],
)
async def test_refusals(server: Standin, status: int, kind: type[RadrefError], attempts: int) -> None:
    server.on(CHAT, refuses(status))
    error = await failure(server.url)
    assert type(error) is kind
    assert len(server.seen) == attempts
    assert (error.retry_after is not None) == (kind is Overloaded)


@pytest.mark.parametrize(
    "said",
    [
        {
            "message": "This model's maximum context length is 4096 tokens.",
            "param": "input_tokens",
            "code": 400,
        },
        {"message": "Input length (9) exceeds model's maximum context length (5).", "code": 400},
        {"message": "?", "code": "context_length_exceeded"},
        {"message": "the request exceeds the available context size", "type": "exceed_context_size_error"},
        {"message": "The input is too long for this model"},
    ],
)
async def test_a_prompt_that_does_not_fit(server: Standin, said: dict[str, object]) -> None:
    server.on(CHAT, refuses(400, {"error": said}))
    error = await failure(server.url)
    assert isinstance(error, InvalidInput)
    assert (error.reason, error.field) == ("TEXT_TOO_LONG", "messages")


@pytest.mark.parametrize(
    "said",
    [
        "Grammar error: Unsupported type objekt",
        "Invalid json_schema in response_format",
        "Failed to parse grammar",
    ],
)
async def test_a_schema_that_the_server_cannot_use(server: Standin, said: str) -> None:
    async def refuses_in_the_stream(exchange: Exchange) -> None:
        await exchange.begin()
        await exchange.event({"error": {"message": said, "type": "BadRequestError", "code": 400}})

    for behaviour in (refuses(400, {"error": {"message": said}}), refuses_in_the_stream):
        server.on(CHAT, behaviour)
        error = await failure(server.url)
        assert isinstance(error, InvalidInput)
        assert error.field == "json_schema"
        assert said not in error.message


@pytest.mark.parametrize("body", [b"<html>400</html>", b"", b"\xff", b'{"error": ["x"]}', b"[" * 50_000])
async def test_refusals_without_a_usable_body(server: Standin, body: bytes) -> None:
    server.on(CHAT, refuses(400, body))
    assert isinstance(await failure(server.url), Unavailable)


async def test_a_request_is_sent_again_until_it_is_answered(server: Standin) -> None:
    async def drops(exchange: Exchange) -> None:
        exchange.cut()

    async def drops_later(exchange: Exchange) -> None:
        await exchange.begin()
        await exchange.event(chunk(role="assistant", content=""))
        exchange.cut()

    made = generator(server.url, attempts=5)
    server.on(CHAT, drops, refuses(502), refuses(429), drops_later, writes("20", " мЗв"))
    assert await pieces(made) == [Delta("20"), Delta(" мЗв"), Summary(Finish.STOP, 7, 3)]
    assert len(server.seen) == 5
    await made.close()


async def test_nothing_is_sent_again_once_text_was_handed_on(server: Standin) -> None:
    async def drops(exchange: Exchange) -> None:
        await exchange.begin()
        await exchange.content("20")
        exchange.cut()

    server.on(CHAT, drops, writes("20"))
    error = await failure(server.url)
    assert isinstance(error, Unavailable)
    assert "in the middle" in error.message
    assert len(server.seen) == 1


async def test_waits_as_long_as_the_server_asks(server: Standin) -> None:
    for value in ("0.2", formatdate(time.time(), usegmt=True)):
        server.on(CHAT, refuses(429, retry_after=value), writes("20"))
        made = generator(server.url)
        assert await text(made) == "20"
        await made.close()


@pytest.mark.parametrize("value", ["30", formatdate(time.time() + 600, usegmt=True)])
async def test_does_not_wait_longer_than_a_person_would(server: Standin, value: str) -> None:
    server.on(CHAT, refuses(429, retry_after=value), writes("20"))
    error = await failure(server.url)
    assert isinstance(error, Overloaded)
    assert error.retry_after is not None
    assert error.retry_after > 20
    assert len(server.seen) == 1


@pytest.mark.parametrize("value", ["nan", "inf", "-3", "soon", "", "Tue, 99 Foo 2026 00:00:00 GMT"])
async def test_a_senseless_wait_is_none(server: Standin, value: str) -> None:
    server.on(CHAT, refuses(429, retry_after=value), writes("20"))
    made = generator(server.url)
    assert await text(made) == "20"
    await made.close()


async def test_does_not_wait_past_the_deadline(server: Standin) -> None:
    server.on(CHAT, refuses(503, retry_after="2"))
    error = await failure(server.url, timeout=1.0)
    assert isinstance(error, Overloaded)
    assert len(server.seen) == 1


async def test_no_server(server: Standin) -> None:
    async with standin() as other:
        url = other.url
    assert isinstance(await failure(url), Unavailable)


async def test_recovers_by_itself(server: Standin) -> None:
    made = generator(server.url)
    server.on(CHAT, refuses(500))
    with pytest.raises(Unavailable):
        await pieces(made)
    server.on(CHAT, writes("20"))
    assert await text(made) == "20"
    await made.close()
