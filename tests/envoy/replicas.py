"""Calls to replicas of tests/service/replica.py through the proxy, and who answered."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from radref.api.inference.v1 import inference_pb2, inference_pb2_grpc
from tests.envoy.answering import plain_channel

REPLICA = "tests.service.replica"

Stub = inference_pb2_grpc.InferenceServiceStub


@asynccontextmanager
async def stub_of(address: str) -> AsyncIterator[Stub]:
    """Makes nothing again by itself."""
    async with plain_channel(address) as channel:
        yield Stub(channel)


async def describe(stub: Stub) -> str:
    """Name of who answered; fails as the call does."""
    return str((await stub.Describe(inference_pb2.DescribeRequest(), timeout=30)).models[0].id)


async def generate(stub: Stub) -> str:
    """The same of a stream, which nobody may make again."""
    pieces = stub.Generate(inference_pb2.GenerateRequest(), timeout=30)
    return "".join([piece.delta async for piece in pieces])


async def until_only(stub: Stub, name: str) -> None:
    """Waits until the proxy's threads know that only this replica is to be called.

    Envoy hands changes of health to them once a second at most (update_merge_window).
    """
    async with asyncio.timeout(60):
        in_a_row = 0
        # By chance: once in 10^12.
        while in_a_row < 40:
            in_a_row = in_a_row + 1 if await describe(stub) == name else 0


async def shares(stub: Stub, calls: int, call: Callable = describe) -> Counter[str]:
    """Who answered how many of the calls, made one after the other."""
    return Counter([await call(stub) for _ in range(calls)])
