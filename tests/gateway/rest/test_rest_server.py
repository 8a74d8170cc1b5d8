"""The facade on a real socket: streams arrive as they are made, who goes away stops the work for him."""

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest
from prometheus_client import REGISTRY

from gateway.rest.app import create_app
from gateway.rest.server import RestServer
from radref.service.admission import Admission
from radref.service.guard import Guard
from tests.gateway.rest.fake_desk import LIMITS, FakeDesk
from tests.gateway.rest.rest_client import BODY, parsed_events


@asynccontextmanager
async def serving(desk: FakeDesk) -> AsyncIterator[tuple[httpx.AsyncClient, RestServer]]:
    server = RestServer("127.0.0.1:0", create_app(desk, Guard(admission=Admission(64, 64)), LIMITS))
    running = asyncio.create_task(server.run())
    try:
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{server.port}", timeout=30) as http:
            yield http, server
    finally:
        await server.drain(0)
        await running


async def until_refused(base_url: str) -> None:
    """Until the listener is closed a newcomer is still served."""
    async with httpx.AsyncClient(base_url=base_url) as newcomer:
        while True:
            await newcomer.get("/openapi.json", headers={"Connection": "close"})


def cancelled(method: str) -> float:
    labels = {"service": "rest", "method": method, "code": "CANCELLED"}
    return REGISTRY.get_sample_value("radref_rpc_server_duration_seconds_count", labels) or 0.0


async def test_a_statement_arrives_before_the_next_is_made() -> None:
    desk = FakeDesk(hold=asyncio.Event())
    async with serving(desk) as (http, _):
        received = ""
        async with http.stream("POST", "/v1/generate:stream", json=BODY) as response:
            async for text in response.aiter_text():
                received += text
                if "event: statement" in received and not desk.hold.is_set():
                    assert "event: end" not in received
                    desk.hold.set()
    assert [name for name, _ in parsed_events(received)] == ["sources", "statement", "statement", "end"]


async def test_who_leaves_a_stream_ends_the_desks_work() -> None:
    desk = FakeDesk(hold=asyncio.Event())
    before = cancelled("StreamGenerate")
    async with serving(desk) as (http, _):
        async with http.stream("POST", "/v1/generate:stream", json=BODY) as response:
            async for text in response.aiter_text():
                if "event: statement" in text:
                    break
        await asyncio.wait_for(desk.closed.wait(), 30)
    assert cancelled("StreamGenerate") == before + 1


async def test_who_leaves_a_question_ends_the_desks_work() -> None:
    desk = FakeDesk(hold=asyncio.Event())
    before = cancelled("Generate")
    async with serving(desk) as (http, _):
        asking = asyncio.create_task(http.post("/v1/generate", json=BODY))
        while not desk.asked:
            await asyncio.sleep(0.01)
        asking.cancel()
        await asyncio.wait_for(desk.closed.wait(), 30)
    assert cancelled("Generate") == before + 1


async def test_draining_finishes_what_is_in_flight_and_takes_nothing_new() -> None:
    desk = FakeDesk(hold=asyncio.Event())
    async with serving(desk) as (http, server):
        asking = asyncio.create_task(http.post("/v1/generate", json=BODY))
        while not desk.asked:
            await asyncio.sleep(0.01)
        draining = asyncio.create_task(server.drain(30))
        with pytest.raises(httpx.TransportError):
            await until_refused(str(http.base_url))
        assert not draining.done()
        desk.hold.set()
        assert (await asking).status_code == 200
        await draining


async def test_what_outlives_the_grace_is_told_to_call_again() -> None:
    desk = FakeDesk(hold=asyncio.Event())
    async with serving(desk) as (http, server):
        asking = asyncio.create_task(http.post("/v1/generate", json=BODY))
        while not desk.asked:
            await asyncio.sleep(0.01)
        await server.drain(0)
        response = await asking
        assert (response.status_code, response.json()["reason"]) == (503, "NOT_READY")
        await asyncio.wait_for(desk.closed.wait(), 30)


async def test_signals_stay_with_the_process() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)]
    async with serving(FakeDesk()) as (http, _):
        await http.get("/openapi.json")
        assert [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)] == before


@pytest.mark.parametrize("address", ["0.0.0.0:0", "[::]:0", "gateway.hospital:7180", "10.0.0.5:7180"])
def test_nothing_listens_beyond_this_machine_in_the_clear(address: str) -> None:
    app = create_app(FakeDesk(), Guard(admission=Admission(64, 64)), LIMITS)
    with pytest.raises(ValueError, match="in the clear"):
        RestServer(address, app)


async def test_a_taken_port_is_an_error_and_no_exit() -> None:
    app = create_app(FakeDesk(), Guard(admission=Admission(64, 64)), LIMITS)
    async with serving(FakeDesk()) as (_, server):
        with pytest.raises(OSError, match="in use"):
            RestServer(f"127.0.0.1:{server.port}", app)
