"""A real gateway process and, in the test's own process, an empty retrieval service behind it."""

from __future__ import annotations

import asyncio
import urllib.request
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from radref.api.gateway.v1 import gateway_pb2_grpc
from radref.api.retrieval.v1 import retrieval_pb2, retrieval_pb2_grpc
from radref.service.health_service import HealthService
from tests.service.service_process import ServiceProcess, service_process
from tests.service.test_process import free_ports

QUESTION = "Wie hoch ist die Dosis von Erika Mustermann?"


@dataclass
class EmptyRetrieval(retrieval_pb2_grpc.RetrievalServiceServicer):
    """Finds nothing. `asked` is set by the first call; answers wait for `release`."""

    headers: list[dict[str, str]] = field(default_factory=list)
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    release: asyncio.Event = field(default_factory=asyncio.Event)

    async def Retrieve(self, request, context):  # noqa: N802
        self.headers.append(dict(context.invocation_metadata()))
        self.asked.set()
        await self.release.wait()
        return retrieval_pb2.RetrieveResponse()


@dataclass
class Stack:
    gateway: ServiceProcess
    retrieval: EmptyRetrieval
    channel: grpc.aio.Channel
    rest: str

    @property
    def stub(self) -> gateway_pb2_grpc.GatewayServiceStub:
        return gateway_pb2_grpc.GatewayServiceStub(self.channel)

    async def search_by_rest(self, **headers: str) -> tuple[int, str]:
        request = urllib.request.Request(
            f"{self.rest}/v1/search",
            data=f'{{"query": "{QUESTION}"}}'.encode(),
            headers={"content-type": "application/json", **headers},
        )

        def send() -> tuple[int, str]:
            with urllib.request.urlopen(request, timeout=60) as response:
                return response.status, response.read().decode()

        return await asyncio.to_thread(send)


@asynccontextmanager
async def gateway_stack(data_dir: Path, **settings: str) -> AsyncIterator[Stack]:
    retrieval = EmptyRetrieval()
    server = grpc.aio.server()
    retrieval_pb2_grpc.add_RetrievalServiceServicer_to_server(retrieval, server)
    health = HealthService()
    health_pb2_grpc.add_HealthServicer_to_server(health, server)
    health.set("", health_pb2.HealthCheckResponse.SERVING)
    neighbours = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    await server.start()
    rest = f"127.0.0.1:{free_ports(1)[0]}"
    everything = {
        **{f"{name}_TARGET": neighbours for name in ("RETRIEVAL", "INFERENCE", "INGEST")},
        "REST_LISTEN": rest,
        "DATA_DIR": str(data_dir),
        **settings,
    }
    starting = service_process("gateway.server", "gateway", **everything)
    gateway = await asyncio.to_thread(starting.__enter__)
    try:
        async with grpc.aio.insecure_channel(gateway.address) as channel:
            yield Stack(gateway, retrieval, channel, f"http://{rest}")
    finally:
        retrieval.release.set()
        await asyncio.to_thread(starting.__exit__, None, None, None)
        await server.stop(0)
