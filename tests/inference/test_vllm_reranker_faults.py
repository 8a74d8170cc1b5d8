"""Every fault of a reranking server is a clear status and leaves nothing open."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from inference_svc.rerankers.vllm import Template
from radref.errors import (
    DeadlineExceeded,
    Internal,
    Overloaded,
    RadrefError,
    Unavailable,
)
from radref.service.context import Call, set_current_call
from tests.inference.openai_standin import Exchange, Standin, standin
from tests.inference.vllm_standin import (
    QUERY,
    Vllm,
    answers,
    failure,
    places,
    reranker,
    result,
)


@pytest_asyncio.fixture
async def server() -> AsyncIterator[Standin]:
    async with standin() as made:
        yield made
        await made.idle()


@pytest.mark.parametrize(
    "results",
    [
        [],
        [result(0, 0.5)],
        [result(0, 0.5), result(0, 0.5)],
        [result(0, 0.5), result(2, 0.5)],
        [result(0, 0.5), result(-1, 0.5)],
        [result(0, 0.5), result(1, 0.5), result(1, 0.5)],
        [result(0, 0.5), result(1, 1.5)],
        [result(0, 0.5), result(1, -0.1)],
        [result(0, 0.5), result(1, float("nan"))],
        [result(0, 0.5), result(1, float("inf"))],
        [result(0, 0.5), result(1, None)],
        [result(0, 0.5), result(1, "0.5")],
        [result(0, 0.5), result("1", 0.5)],
        None,
        "text",
    ],
)
async def test_answers_that_are_none(server: Standin, results: object) -> None:
    made = reranker(server.url)
    Vllm(server, 8192)
    await made.check()
    server.on("/rerank", answers(results))
    with pytest.raises(Internal):
        await made.rerank(QUERY, ["a", "b"])
    assert sum(exchange.path == "/rerank" for exchange in server.seen) == 2
    await made.close()


@pytest.mark.parametrize("body", [b"", b"<html>", b"[1]", b"null", b"\xff", b"[" * 50_000, b"{}"])
@pytest.mark.parametrize("kind", ["application/json", "text/html"])
@pytest.mark.parametrize("path", ["/rerank", "/tokenize"])
async def test_garbage(server: Standin, body: bytes, kind: str, path: str) -> None:
    async def script(exchange: Exchange) -> None:
        await exchange.answer(200, body, kind=kind)

    Vllm(server, 8192)
    server.on(path, script)
    assert isinstance(await failure(server.url), Internal)


@pytest.mark.parametrize(
    ("status", "kind", "attempts"),
    [
        (400, Unavailable, 1),
        (401, Unavailable, 1),
        (404, Unavailable, 1),
        (429, Overloaded, 3),
        (500, Unavailable, 1),
        (502, Unavailable, 3),
        (503, Overloaded, 3),
    ],
)
async def test_refusals(server: Standin, status: int, kind: type[RadrefError], attempts: int) -> None:
    async def script(exchange: Exchange) -> None:
        await exchange.answer(status, {"error": {"message": f"{QUERY} 20 мЗв", "code": status}})

    Vllm(server, 8192)
    server.on("/rerank", script)
    assert type(await failure(server.url)) is kind
    assert sum(exchange.path == "/rerank" for exchange in server.seen) == attempts


async def test_a_server_that_refuses_what_fits(server: Standin) -> None:
    async def script(exchange: Exchange) -> None:
        if len(exchange.json["documents"]) > 1:
            await exchange.answer(400, {"error": {"message": "x", "param": "input_tokens"}})
        else:
            await answers([result(0, 0.5)])(exchange)

    Vllm(server, 8192)
    server.on("/rerank", script)
    assert isinstance(await failure(server.url, documents=("20 мЗв", "1 мЗв")), Internal)


async def test_recovers_from_a_lost_connection(server: Standin) -> None:
    async def drops(exchange: Exchange) -> None:
        exchange.cut()

    vllm = Vllm(server, 8192)
    server.on("/rerank", drops, vllm.rerank)
    made = reranker(server.url)
    assert (await made.rerank(QUERY, ["20 мЗв"])).truncated == [False]
    await made.close()


async def test_no_server() -> None:
    async with standin() as gone:
        url = gone.url
    assert isinstance(await failure(url), Unavailable)
    made = reranker(url)
    with pytest.raises(Unavailable) as caught:
        _ = made.description
    assert caught.value.reason == "NOT_READY"
    await made.close()


async def hangs(exchange: Exchange) -> None:
    await exchange.hang()


@pytest.mark.parametrize("path", ["/rerank", "/tokenize"])
async def test_the_deadline_ends_the_request_there(server: Standin, path: str) -> None:
    async def called() -> RadrefError:
        set_current_call(Call("id", "/m", time.monotonic() + 0.3))
        return await failure(server.url, timeout=60.0)

    Vllm(server, 8192)
    server.on(path, hangs)
    assert isinstance(await asyncio.create_task(called()), DeadlineExceeded)
    await server.idle()
    assert server.aborted == 1


async def test_a_caller_that_goes(server: Standin) -> None:
    Vllm(server, 200)
    made = reranker(server.url, places=places(1, 0))
    await made.check()
    await server.idle()
    server.on("/tokenize", hangs)
    task = asyncio.create_task(made.rerank(QUERY, ["Предел 20 мЗв. " * 100] * 20))
    while not server.open_requests:
        await asyncio.sleep(0.01)
    with pytest.raises(Overloaded):
        await made.rerank(QUERY, ["20 мЗв"])
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await server.idle()
    Vllm(server, 200)
    await made.rerank(QUERY, ["20 мЗв"])
    await made.close()


async def test_checks_with_a_real_request_each_time(server: Standin) -> None:
    async def busy(exchange: Exchange) -> None:
        await exchange.answer(503, {"error": {"message": "loading"}})

    made = reranker(server.url)
    vllm = Vllm(server, 8192)
    server.on("/rerank", busy)
    with pytest.raises(Unavailable) as caught:
        await made.check()
    assert caught.value.reason == "NOT_READY"
    server.on("/rerank", vllm.rerank)
    await made.check()
    server.on("/rerank", busy)
    await made.check()  # busy is up
    server.on("/rerank", answers([]))
    with pytest.raises(Internal):
        await made.check()
    await made.close()
    with pytest.raises(Unavailable):
        await made.rerank(QUERY, ["20 мЗв"])


async def test_the_fingerprint_follows_template_and_instruction(server: Standin) -> None:
    Vllm(server, 8192)
    found = set()
    for change in (
        {},
        {"id": "other"},
        {"upstream_model": "other"},
        {"template": Template.SERVER},
        {"instruction": "x"},
    ):
        made = reranker(server.url, **change)
        found.add((await made.rerank(QUERY, ["a"])).fingerprint)
        await made.close()
    assert len(found) == 5
    assert all(re.fullmatch(r"[0-9a-f]{16}", fingerprint) for fingerprint in found)
