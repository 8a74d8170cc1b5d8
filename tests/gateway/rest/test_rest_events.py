"""Streamed answers: sources, statements, the end; errors after the beginning are events."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from gateway.rest import events
from radref.errors import Unavailable
from tests.gateway.rest.fake_desk import ABSTAINED, FakeDesk
from tests.gateway.rest.rest_client import BODY, client, parsed_events


async def test_sources_statements_end() -> None:
    desk = FakeDesk()
    async with client(desk) as http:
        streamed = await http.post("/v1/generate:stream", json=BODY, headers={"X-Request-Id": "ris-1"})
        whole = (await http.post("/v1/generate", json=BODY)).json()
    assert streamed.headers["content-type"].startswith("text/event-stream")
    assert streamed.headers["x-accel-buffering"] == "no"
    first, *statements, last = parsed_events(streamed.text)
    assert first == ("sources", {"ranked_parents": whole["ranked_parents"], "request_id": "ris-1"})
    assert [name for name, _ in statements] == ["statement", "statement"]
    assert [data for _, data in statements] == whole["statements"]
    assert last[0] == "end"
    assert last[1] == {name: whole[name] for name in last[1]}
    assert desk.closed.is_set()


async def test_an_abstention_has_no_statements() -> None:
    async with client(FakeDesk(given=ABSTAINED)) as http:
        streamed = await http.post("/v1/generate:stream", json=BODY)
    assert [name for name, _ in parsed_events(streamed.text)] == ["sources", "end"]


async def test_an_error_after_the_beginning_is_the_last_event() -> None:
    desk = FakeDesk(stream_error=Unavailable("gone", metadata={"backend": "inference"}))
    async with client(desk) as http:
        streamed = await http.post("/v1/generate:stream", json=BODY)
    assert streamed.status_code == 200
    *_, (name, problem) = parsed_events(streamed.text)
    assert name == "error"
    assert (problem["status"], problem["reason"]) == (503, "BACKEND_UNAVAILABLE")
    assert desk.closed.is_set()


async def test_a_defect_after_the_beginning_is_an_event_without_its_text() -> None:
    async with client(FakeDesk(stream_error=KeyError("Ivanov"))) as http:
        streamed = await http.post("/v1/generate:stream", json=BODY)
    *_, (name, problem) = parsed_events(streamed.text)
    assert (name, problem["reason"]) == ("error", "INTERNAL")
    assert "Ivanov" not in streamed.text


async def test_the_deadline_ends_a_stream_with_an_event() -> None:
    desk = FakeDesk(hold=asyncio.Event())
    async with client(desk) as http:
        streamed = await http.post("/v1/generate:stream", json=BODY, headers={"Request-Timeout": "1"})
    names = [name for name, _ in parsed_events(streamed.text)]
    assert names == ["sources", "statement", "error"]
    assert parsed_events(streamed.text)[-1][1]["reason"] == "DEADLINE"
    assert desk.closed.is_set()


async def test_the_deadline_of_a_whole_answer_is_a_problem() -> None:
    desk = FakeDesk(hold=asyncio.Event())
    async with client(desk) as http:
        response = await http.post("/v1/generate", json=BODY, headers={"Request-Timeout": "1"})
    assert (response.status_code, response.json()["reason"]) == (504, "DEADLINE")
    assert desk.closed.is_set()


async def test_silence_is_filled_with_comments() -> None:
    desk = FakeDesk(hold=asyncio.Event())
    async with client(desk, heartbeat=0.01) as http:
        streamed = await http.post("/v1/generate:stream", json=BODY, headers={"Request-Timeout": "1"})
    assert events.HEARTBEAT.decode() in streamed.text
    assert [name for name, _ in parsed_events(streamed.text)] == ["sources", "statement", "error"]


class Items:
    def __init__(self) -> None:
        self.given = 0
        self.closed = False

    async def all(self) -> AsyncIterator[int]:
        try:
            while True:
                self.given += 1
                yield self.given
        finally:
            self.closed = True


async def test_a_feed_reads_little_ahead_and_closes_what_it_reads() -> None:
    items = Items()
    async with events.feed_of(items.all()) as feed:
        assert await feed.next() == 1
        for _ in range(10):
            await asyncio.sleep(0)
        assert items.given <= 3
    assert items.closed


async def test_a_timeout_of_the_desk_is_no_heartbeat() -> None:
    async def failing() -> AsyncIterator[int]:
        yield 1
        raise TimeoutError("the desk's own")

    async with events.feed_of(failing()) as feed:
        with pytest.raises(TimeoutError, match="the desk's own"):
            async for _ in events.with_heartbeats(feed, 60):
                pass
