"""grpc.health.v1 as every service answers it.

Own code: in grpcio-health-checking 1.81 one watcher that leaves takes the signal away from all the others of
its service (`del self._server_watchers[...]`), who then never learn that the service stops.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from radref.errors import NotFound


class HealthService(health_pb2_grpc.HealthServicer):
    """What was set last, for who asks and for who watches. Belongs to one event loop."""

    def __init__(self) -> None:
        self._statuses: dict[str, health_pb2.HealthCheckResponse.ServingStatus] = {}
        self._changed = asyncio.Event()

    def set(self, service: str, status: health_pb2.HealthCheckResponse.ServingStatus) -> None:
        """Sets the status of a service; "" = of the whole server."""
        self._statuses[service] = status
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    async def Check(  # noqa: N802
        self, request: health_pb2.HealthCheckRequest, context: grpc.aio.ServicerContext
    ) -> health_pb2.HealthCheckResponse:
        status = self._statuses.get(request.service)
        if status is None:
            raise NotFound("there is no such service here", reason="UNKNOWN_METHOD", field="service")
        return health_pb2.HealthCheckResponse(status=status)

    async def Watch(  # noqa: N802
        self, request: health_pb2.HealthCheckRequest, context: grpc.aio.ServicerContext
    ) -> AsyncIterator[health_pb2.HealthCheckResponse]:
        told: health_pb2.HealthCheckResponse.ServingStatus | None = None
        while True:
            changed = self._changed
            status = self._statuses.get(request.service, health_pb2.HealthCheckResponse.SERVICE_UNKNOWN)
            if status != told:
                told = status
                yield health_pb2.HealthCheckResponse(status=status)
            await changed.wait()
