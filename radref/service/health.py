"""Readiness: SERVING once every named component has answered, never before.

It stays SERVING when a component fails later: the service then answers UNAVAILABLE with a reason, which
tells a caller more than a refused connection. `radref_backend_up` shows the failure.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

import grpc
import structlog
from grpc_health.v1 import health_pb2, health_pb2_grpc

from radref.errors import RadrefError, Unavailable
from radref.service.health_service import HealthService
from radref.service.metrics import BACKEND_UP

CHECK_TIMEOUT_SECONDS = 10.0
# Quick while starting, so that a start is not longer than it must be; then only a gauge depends on it.
STARTING_INTERVAL_SECONDS = 0.1
SERVING_INTERVAL_SECONDS = 5.0

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Component:
    """Something the service needs.

    Attributes:
        name: label of radref_backend_up, e.g. "inference".
        check: makes one real request; raises when the component does not answer.
        timeout: seconds the first check may take; longer where it makes a server load its model.
    """

    name: str
    check: Callable[[], Awaitable[None]]
    timeout: float = CHECK_TIMEOUT_SECONDS


def peer(name: str, channel: grpc.aio.Channel) -> Component:
    """A component that is up when the neighbour behind `channel` says SERVING."""
    stub = health_pb2_grpc.HealthStub(channel)

    async def check() -> None:
        response = await stub.Check(health_pb2.HealthCheckRequest(), timeout=CHECK_TIMEOUT_SECONDS)
        if response.status != health_pb2.HealthCheckResponse.SERVING:
            raise Unavailable(f"the {name} service is not ready", reason="NOT_READY")

    return Component(name, check)


class Readiness:
    """Checks components for ever and tells grpc.health.v1 what it found."""

    def __init__(
        self, servicer: HealthService, services: Sequence[str], components: Sequence[Component]
    ) -> None:
        self._servicer = servicer
        self._services = ("", *services)
        self._components = components
        self._answered: set[str] = set()
        self._failures: dict[str, str] = {}
        self._draining = False
        self.serving = False
        for component in components:
            # From the start on: a backend that was never asked is not up.
            BACKEND_UP.labels(backend=component.name).set(0)

    @property
    def waiting_for(self) -> list[str]:
        """Names of components that have not answered yet."""
        return [c.name for c in self._components if c.name not in self._answered]

    def start(self) -> None:
        self._announce(health_pb2.HealthCheckResponse.NOT_SERVING)

    async def run(self) -> None:
        """Checks until cancelled; each component for itself, so that one that hangs hides no other."""
        async with asyncio.TaskGroup() as watching:
            for component in self._components:
                watching.create_task(self._keep_checking(component))
            self._announce_when_ready()
            # Also with nothing to check: a background task that ends ends the process.
            watching.create_task(asyncio.Event().wait())

    async def _keep_checking(self, component: Component) -> None:
        while not self._draining:
            await self._check(component)
            self._announce_when_ready()
            await asyncio.sleep(SERVING_INTERVAL_SECONDS if self.serving else STARTING_INTERVAL_SECONDS)

    def _announce_when_ready(self) -> None:
        if not self.serving and not self.waiting_for and not self._draining:
            self.serving = True
            self._announce(health_pb2.HealthCheckResponse.SERVING)
            log.info("serving")

    def drain(self) -> None:
        self._draining = True
        self.serving = False
        self._announce(health_pb2.HealthCheckResponse.NOT_SERVING)

    async def _check(self, component: Component) -> None:
        try:
            async with asyncio.timeout(self._patience(component)):
                await component.check()
        except Exception as exc:  # noqa: BLE001 - any failure means "not up"; it is reported, not hidden
            BACKEND_UP.labels(backend=component.name).set(0)
            # Our own messages hold no text of documents; a foreign exception's might.
            failure = exc.message if isinstance(exc, RadrefError) else type(exc).__name__
            # Once a reason: a start that never ends must say why, and not ten times a second.
            if self._failures.get(component.name) != failure:
                self._failures[component.name] = failure
                log.warning("backend down", backend=component.name, reason=failure)
        else:
            self._failures.pop(component.name, None)
            BACKEND_UP.labels(backend=component.name).set(1)
            self._answered.add(component.name)

    def _patience(self, component: Component) -> float:
        # Only a first answer may wait for a model to load; later, silence is an outage.
        return CHECK_TIMEOUT_SECONDS if component.name in self._answered else component.timeout

    def _announce(self, status: health_pb2.HealthCheckResponse.ServingStatus) -> None:
        for service in self._services:
            self._servicer.set(service, status)
