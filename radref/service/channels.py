"""Channels to other radref services: request id and deadline travel along, reconnects are quick."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeAlias

import grpc

from radref.service.context import AUTHORIZATION_HEADER, REQUEST_ID_HEADER, current_call, downstream_timeout
from radref.service.tls.client import RenewedChannel
from radref.service.tls.files import CertificateFiles, TlsFiles

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


# Value of the authorization header for one call; None = no header.
Authorization: TypeAlias = Callable[[], Awaitable[str | None]]


def open_channel(
    target: str,
    *,
    tls: TlsFiles | None = None,
    authorization: Authorization | None = None,
    options: Sequence[tuple[str, int | str]] = (),
) -> grpc.aio.Channel:
    """A channel to a radref service.

    Args:
        target: host:port, e.g. "127.0.0.1:7102"; with TLS the host stands in the other side's certificate.
        tls: authorities and own certificate; files that are replaced later are picked up. None = no TLS.
        authorization: asked before every call; see `callers_authorization`. None = no header.
        options: gRPC channel options besides CHANNEL_OPTIONS.

    Raises:
        ValueError: the certificate files cannot be used.
    """
    interceptors = [_UnaryUnary(authorization), _UnaryStream(authorization), _StreamUnary(authorization)]
    everything = (*CHANNEL_OPTIONS, *options)
    if tls is None:
        return grpc.aio.insecure_channel(target, options=everything, interceptors=interceptors)
    return RenewedChannel(
        lambda credentials: grpc.aio.secure_channel(
            target, credentials, options=everything, interceptors=interceptors
        ),
        CertificateFiles(tls),
    )


async def callers_authorization() -> str | None:
    """The header of the call being served: a neighbour that checks tokens itself gets the person's own."""
    call = current_call()
    return None if call is None else call.authorization


async def _details(
    details: grpc.aio.ClientCallDetails, authorization: Authorization | None
) -> grpc.aio.ClientCallDetails:
    metadata = details.metadata or grpc.aio.Metadata()
    call = current_call()
    if call is not None and REQUEST_ID_HEADER not in metadata:
        metadata.add(REQUEST_ID_HEADER, call.request_id)
    if authorization is not None and (value := await authorization()) is not None:
        metadata[AUTHORIZATION_HEADER] = value
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
    def __init__(self, authorization: Authorization | None) -> None:
        self._authorization = authorization

    async def intercept_unary_unary(
        self, continuation: Continuation, client_call_details: grpc.aio.ClientCallDetails, request: Any
    ) -> Any:
        return await continuation(await _details(client_call_details, self._authorization), request)


class _UnaryStream(grpc.aio.UnaryStreamClientInterceptor):
    def __init__(self, authorization: Authorization | None) -> None:
        self._authorization = authorization

    async def intercept_unary_stream(
        self, continuation: Continuation, client_call_details: grpc.aio.ClientCallDetails, request: Any
    ) -> Any:
        return await continuation(await _details(client_call_details, self._authorization), request)


class _StreamUnary(grpc.aio.StreamUnaryClientInterceptor):
    def __init__(self, authorization: Authorization | None) -> None:
        self._authorization = authorization

    async def intercept_stream_unary(
        self,
        continuation: Continuation,
        client_call_details: grpc.aio.ClientCallDetails,
        request_iterator: Any,
    ) -> Any:
        return await continuation(await _details(client_call_details, self._authorization), request_iterator)
