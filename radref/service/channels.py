"""Channels to other radref services: request id and deadline travel along, reconnects are quick."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import grpc

from radref.service.context import REQUEST_ID_HEADER, current_call, downstream_timeout

# A 200-page document's vectors or thirteen long parents fit well below this.
MAX_MESSAGE_BYTES = 64 * 1024 * 1024
# Upper bound of a call that belongs to no served call (background work sets its own, shorter ones).
DEFAULT_TIMEOUT_SECONDS = 120.0

CHANNEL_OPTIONS: tuple[tuple[str, int], ...] = (
    ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
    ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
    # A restarted neighbour must be found again in about a second, not after gRPC's default two minutes.
    ("grpc.initial_reconnect_backoff_ms", 100),
    # In gRPC this is also the time a connection may take to be made, with TLS and a busy node.
    ("grpc.min_reconnect_backoff_ms", 2000),
    ("grpc.max_reconnect_backoff_ms", 1000),
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.keepalive_timeout_ms", 10_000),
)


def open_channel(target: str) -> grpc.aio.Channel:
    """A channel to a neighbour, e.g. "127.0.0.1:7102"."""
    return grpc.aio.insecure_channel(
        target,
        options=CHANNEL_OPTIONS,
        interceptors=[_UnaryUnary(), _UnaryStream(), _StreamUnary()],
    )


def _propagated(details: grpc.aio.ClientCallDetails) -> grpc.aio.ClientCallDetails:
    metadata = details.metadata or grpc.aio.Metadata()
    call = current_call()
    if call is not None and REQUEST_ID_HEADER not in metadata:
        metadata.add(REQUEST_ID_HEADER, call.request_id)
    timeout = downstream_timeout(DEFAULT_TIMEOUT_SECONDS if details.timeout is None else details.timeout)
    return grpc.aio.ClientCallDetails(
        method=details.method,
        timeout=timeout,
        metadata=metadata,
        credentials=details.credentials,
        wait_for_ready=details.wait_for_ready,
    )


Continuation = Callable[[grpc.aio.ClientCallDetails, Any], Any]


class _UnaryUnary(grpc.aio.UnaryUnaryClientInterceptor):
    async def intercept_unary_unary(
        self, continuation: Continuation, client_call_details: grpc.aio.ClientCallDetails, request: Any
    ) -> Any:
        return await continuation(_propagated(client_call_details), request)


class _UnaryStream(grpc.aio.UnaryStreamClientInterceptor):
    async def intercept_unary_stream(
        self, continuation: Continuation, client_call_details: grpc.aio.ClientCallDetails, request: Any
    ) -> Any:
        return await continuation(_propagated(client_call_details), request)


class _StreamUnary(grpc.aio.StreamUnaryClientInterceptor):
    async def intercept_stream_unary(
        self,
        continuation: Continuation,
        client_call_details: grpc.aio.ClientCallDetails,
        request_iterator: Any,
    ) -> Any:
        return await continuation(_propagated(client_call_details), request_iterator)
