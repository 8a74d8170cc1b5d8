"""Wraps gRPC method handlers so that an interceptor is one async context manager around the call."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, aclosing
from typing import Any, TypeAlias

import grpc

Context: TypeAlias = grpc.aio.ServicerContext
Around = Callable[[Context], AbstractAsyncContextManager[None]]


def wrap_handler(handler: grpc.RpcMethodHandler, around: Around) -> grpc.RpcMethodHandler:
    """A handler of the same kind whose behaviour runs inside `around(context)`."""
    if handler.response_streaming:
        behaviour = handler.stream_stream if handler.request_streaming else handler.unary_stream
        if inspect.iscoroutinefunction(behaviour):
            return _writing(handler, behaviour, around)

        async def streaming(request: Any, context: Context) -> AsyncIterator[Any]:
            # Closed here, not by the garbage collector: what runs upstream stops when the caller goes.
            async with around(context), aclosing(behaviour(request, context)) as responses:
                async for response in responses:
                    yield response

        if handler.request_streaming:
            return grpc.stream_stream_rpc_method_handler(
                streaming, handler.request_deserializer, handler.response_serializer
            )
        return grpc.unary_stream_rpc_method_handler(
            streaming, handler.request_deserializer, handler.response_serializer
        )

    single = handler.stream_unary if handler.request_streaming else handler.unary_unary

    async def unary(request: Any, context: Context) -> Any:
        async with around(context):
            return await single(request, context)

    if handler.request_streaming:
        return grpc.stream_unary_rpc_method_handler(
            unary, handler.request_deserializer, handler.response_serializer
        )
    return grpc.unary_unary_rpc_method_handler(
        unary, handler.request_deserializer, handler.response_serializer
    )


def _writing(
    handler: grpc.RpcMethodHandler, behaviour: Callable[[Any, Context], Awaitable[None]], around: Around
) -> grpc.RpcMethodHandler:
    """The other way to stream in grpc.aio, that of the health service: it writes to the context itself."""

    async def writing(request: Any, context: Context) -> None:
        async with around(context):
            await behaviour(request, context)

    make = (
        grpc.stream_stream_rpc_method_handler
        if handler.request_streaming
        else grpc.unary_stream_rpc_method_handler
    )
    return make(writing, handler.request_deserializer, handler.response_serializer)
