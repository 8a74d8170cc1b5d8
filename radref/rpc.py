"""Awaiting gRPC calls: what fails is a RadrefError."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable
from typing import TypeVar

import grpc

from radref.service.status import error_from_rpc

T = TypeVar("T")


async def call(awaited: Awaitable[T], service: str) -> T:
    """The answer of a call. `service`: name of the called service, for the message when it is not reached."""
    try:
        return await awaited
    except grpc.aio.AioRpcError as exc:
        raise error_from_rpc(exc, backend=service) from None


async def stream(messages: AsyncIterator[T], service: str) -> AsyncIterator[T]:
    """The messages of a streaming call; `service` as in `call`."""
    try:
        async for message in messages:
            yield message
    except grpc.aio.AioRpcError as exc:
        raise error_from_rpc(exc, backend=service) from None
