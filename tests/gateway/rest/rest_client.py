"""Calls the facade in this process."""

from __future__ import annotations

import json
from contextlib import AbstractAsyncContextManager
from typing import Any

import httpx

from gateway.rest import ports
from gateway.rest.app import create_app
from radref.errors import RadrefError
from radref.service.admission import Admission
from radref.service.context import Call
from radref.service.guard import Guard
from tests.gateway.rest.fake_desk import LIMITS, FakeDesk

BODY = {"query": "What is the limit?"}
GATEWAY = "/radref.api.gateway.v1.GatewayService"


def client(desk: FakeDesk, guard: ports.Guard | None = None, heartbeat: float = 15.0) -> httpx.AsyncClient:
    app = create_app(desk, guard or Guard(admission=Admission(64, 64)), LIMITS, heartbeat)
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://gateway")


def parsed_events(text: str) -> list[tuple[str, Any]]:
    """Names and data of a stream's events; comments are left out."""
    events = []
    for block in text.strip().split("\n\n"):
        if not block.startswith(":"):
            name, data = block.split("\n")
            events.append((name.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
    return events


class Refusing:
    """A guard that refuses everybody, and what it was asked."""

    def __init__(self, error: RadrefError) -> None:
        self.error = error
        self.asked: list[dict[str, object]] = []

    def around(self, **asked: object) -> AbstractAsyncContextManager[Call]:
        self.asked.append(asked)
        raise self.error
