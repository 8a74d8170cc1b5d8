"""Wraps gRPC method handlers so that an interceptor is one async context manager around the call."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, aclosing
from typing import Any, TypeAlias

import grpc

Context: TypeAlias = grpc.aio.ServicerContext
Around = Callable[[Context], AbstractAsyncContextManager[None]]


def wrap_handler(handler: grpc.RpcMethodHandler, around: Around) -> grpc.RpcMethodHandler:
    """A handler of the same kind whose behaviour runs inside `around(context)`."""
    if handler.response_streaming:
        behaviour = handler.stream_stream if handler.request_streaming else handler.unary_stream

        async def streaming(request: Any, context: Context) -> None:
            # Closed here, not by the garbage collector: what runs upstream stops when the caller goes.
            # Written here and not yielded: a timeout of `around` that fires while gRPC writes would else
            # cancel gRPC's own frame, and the caller would wait for a status that never comes.
            async with around(context), aclosing(behaviour(request, context)) as responses:
                async for response in responses:
                    await context.write(response)

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
