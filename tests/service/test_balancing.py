"""Calls to replicas: each gets its share, the death or stop of one loses none, an outage brings no storm."""

import asyncio
import re
import signal
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from radref.api.inference.v1 import inference_pb2, inference_pb2_grpc
from radref.service.admission import Admission
from radref.service.channels import open_channel
from radref.service.guard import Guard
from radref.service.health_service import HealthService
from radref.service.interceptors import guarded
from radref.service.server_options import server_options
from radref.service.settings import ServiceSettings
from tests.service.service_process import ServiceProcess, service_process

REPLICA = "tests.service.replica"


class OneSettings(ServiceSettings, section="inference"):
    pass


@contextmanager
def two_replicas(**settings: str) -> Iterator[tuple[ServiceProcess, ServiceProcess]]:
    with (
        service_process(REPLICA, "inference", NAME="a", **settings) as first,
        service_process(REPLICA, "inference", NAME="b", **settings) as second,
    ):
        yield first, second


@asynccontextmanager
async def stub_of(*addresses: str) -> AsyncIterator[inference_pb2_grpc.InferenceServiceStub]:
    async with open_channel(f"ipv4:///{','.join(addresses)}") as channel:
        yield inference_pb2_grpc.InferenceServiceStub(channel)


async def name_of(stub: inference_pb2_grpc.InferenceServiceStub) -> str:
    return (await stub.Describe(inference_pb2.DescribeRequest(), timeout=30)).models[0].id


async def until_both(stub: inference_pb2_grpc.InferenceServiceStub) -> None:
    """A connection may take a moment; until then the other replica gets all."""
    async with asyncio.timeout(30):
        seen: set[str] = set()
        while len(seen) < 2:
            seen.add(await name_of(stub))


@pytest.mark.e2e
async def test_replicas_get_equal_shares() -> None:
    with two_replicas() as (first, second):
        async with stub_of(first.address, second.address) as stub:
            await until_both(stub)
            counts = Counter([await name_of(stub) for _ in range(100)])
    assert counts == {"a": 50, "b": 50}


async def describe(stub: inference_pb2_grpc.InferenceServiceStub) -> str:
    return await name_of(stub)


async def generate(stub: inference_pb2_grpc.InferenceServiceStub) -> str:
    """Never made again."""
    pieces = stub.Generate(inference_pb2.GenerateRequest(), timeout=30)
    return "".join([piece.delta async for piece in pieces])


Calling = Callable[[inference_pb2_grpc.InferenceServiceStub], Awaitable[str]]


@pytest.mark.e2e
@pytest.mark.parametrize(
    ("how", "wait", "call"),
    [
        pytest.param(signal.SIGKILL, "0", describe, id="killed"),
        pytest.param(signal.SIGTERM, "0", describe, id="stopped in a hurry"),
        # As Kubernetes stops a pod: who watches its health is gone before it takes no more.
        pytest.param(signal.SIGTERM, "1", describe, id="stopped"),
        pytest.param(signal.SIGTERM, "1", generate, id="stopped, calls that nobody makes again"),
    ],
)
async def test_a_replica_that_ends_loses_no_call(how: signal.Signals, wait: str, call: Calling) -> None:
    """Under the load of eight callers, with calls in flight."""
    answers: list[str] = []
    done = asyncio.Event()

    async def keep_calling(stub: inference_pb2_grpc.InferenceServiceStub) -> None:
        while not done.is_set():
            answers.append(await call(stub))

    with two_replicas(HOLD="0.02", DRAIN_WAIT_SECONDS=wait) as (first, second):
        async with stub_of(first.address, second.address) as stub:
            await until_both(stub)
            async with asyncio.TaskGroup() as callers:
                # One that fails ends the group: the test fails with its error.
                for _ in range(8):
                    callers.create_task(keep_calling(stub))
                await more(answers, 50)
                first.process.send_signal(how)
                code = await asyncio.to_thread(first.process.wait, 60)
                await more(answers, 50)
                done.set()
    assert code == (0 if how is signal.SIGTERM else -signal.SIGKILL)
    assert set(answers[-20:]) == {"b"}


@pytest.mark.e2e
async def test_a_replica_that_is_not_ready_gets_no_calls() -> None:
    with (
        service_process(REPLICA, "inference", NAME="a", READY="false") as starting,
        service_process(REPLICA, "inference", NAME="b") as ready,
    ):
        async with stub_of(starting.address, ready.address) as stub:
            assert {await name_of(stub) for _ in range(50)} == {"b"}
        # Behind a plain address there may be others: it is called, and says itself what is wrong.
        async with open_channel(starting.address) as channel:
            assert await name_of(inference_pb2_grpc.InferenceServiceStub(channel)) == "a"


async def more(answers: list[str], count: int) -> None:
    goal = len(answers) + count
    async with asyncio.timeout(60):
        while len(answers) < goal:
            await asyncio.sleep(0.01)


@pytest.mark.e2e
async def test_an_outage_is_not_made_worse_by_retries() -> None:
    """300 calls to a service whose backend is down: at most 100 more attempts, then one for each call."""
    attempts = 0

    async def failing(stub: inference_pb2_grpc.InferenceServiceStub) -> None:
        nonlocal attempts
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await stub.Describe(inference_pb2.DescribeRequest(), timeout=30)
        number = re.search(r"call (\d+)", caught.value.details() or "")
        assert number is not None
        attempts = max(attempts, int(number[1]))

    with service_process(REPLICA, "inference", ANSWERS="false") as only:
        async with open_channel(only.address) as channel:
            stub = inference_pb2_grpc.InferenceServiceStub(channel)
            for _ in range(6):
                await asyncio.gather(*(failing(stub) for _ in range(50)))
    assert 300 < attempts <= 400


class Told(inference_pb2_grpc.InferenceServiceServicer):
    async def Describe(self, request, context):  # noqa: N802
        return inference_pb2.DescribeResponse(models=[inference_pb2.ModelDescription(id=context.peer())])


@asynccontextmanager
async def serving(settings: ServiceSettings) -> AsyncIterator[str]:
    guard = Guard(admission=Admission(8, 8))
    server = grpc.aio.server(interceptors=guarded(guard), options=server_options(settings))
    inference_pb2_grpc.add_InferenceServiceServicer_to_server(Told(), server)
    health = HealthService()
    health.set("", health_pb2.HealthCheckResponse.SERVING)
    health_pb2_grpc.add_HealthServicer_to_server(health, server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        await server.stop(0)


async def test_connections_end_at_their_age_and_no_call_with_them() -> None:
    settings = OneSettings(max_connection_age_seconds=0.2)
    async with serving(settings) as address, stub_of(address) as stub, asyncio.timeout(60):
        connections = {await name_of(stub)}
        while len(connections) < 3:
            connections.add(await name_of(stub))


async def test_a_name_with_one_dead_address_is_served_by_the_others() -> None:
    async with serving(OneSettings()) as address, stub_of("127.0.0.1:1", address) as stub:
        for _ in range(10):
            assert await name_of(stub)
