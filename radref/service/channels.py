"""Channels to other radref services: request id, deadline and trace travel along, reconnects are quick.

Every channel balances: a name with several addresses, or a list, gets its calls one after the other on each.
A target with a scheme ("dns:///retrieval-headless:7101", "ipv4:10.0.0.1:7101,10.0.0.2:7101") says besides
that each address is one replica: the channel watches their health and leaves out who starts or stops. Plain
host:port may be a proxy's or a ClusterIP's, behind which a watch would tell of one replica and stop all calls
(docs/observability.md).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import grpc
from opentelemetry.trace import Span

from radref.retry_policy import service_config
from radref.service.context import AUTHORIZATION_HEADER, REQUEST_ID_HEADER, current_call, downstream_timeout
from radref.service.tls.client import RenewedChannel
from radref.service.tls.files import CertificateFiles, TlsFiles
from radref.service.tracing.spans import follow, start_neighbour_span, trace_headers

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
# What radref's own servers allow besides, and others need not (Triton ends connections for it).
_BETWEEN_US: tuple[tuple[str, int], ...] = (
    # A machine that lost its power is noticed between two calls, not by the next one.
    ("grpc.keepalive_permit_without_calls", 1),
    # A generation is silent for longer than two pings.
    ("grpc.http2.max_pings_without_data", 0),
    # Replicas that came are found after a lost connection; gRPC's default waits 30 s between two look-ups.
    ("grpc.dns_min_time_between_resolutions_ms", 5_000),
)
# One more after the first: a replica that died is covered. More would multiply along the hops.
ATTEMPTS_BETWEEN_SERVICES = 2

# Value of the authorization header for one call; None = no header.
Authorization: TypeAlias = Callable[[], Awaitable[str | None]]


def open_channel(
    target: str,
    *,
    tls: TlsFiles | None = None,
    authorization: Authorization | None = None,
    attempts: int = ATTEMPTS_BETWEEN_SERVICES,
) -> grpc.aio.Channel:
    """A channel to a radref service.

    Args:
        target: host:port, e.g. "127.0.0.1:7102", or, where each address is one replica, a gRPC target with
            its scheme; with TLS the host stands in the other side's certificate.
        tls: authorities and own certificate; files that are replaced later are picked up. None = no TLS.
        authorization: asked before every call; see `callers_authorization`. None = no header.
        attempts: how often a call that changes nothing is made while the service is not reached, >= 2; see
            `retry_policy`.

    Raises:
        ValueError: the certificate files cannot be used.
    """
    outgoing = _Outgoing(authorization)
    interceptors = [_UnaryUnary(outgoing), _UnaryStream(outgoing), _StreamUnary(outgoing)]
    config = service_config(attempts, health=_names_replicas(target))
    everything = (*CHANNEL_OPTIONS, *_BETWEEN_US, ("grpc.service_config", config))
    if tls is None:
        return grpc.aio.insecure_channel(target, options=everything, interceptors=interceptors)
    return RenewedChannel(
        lambda credentials: grpc.aio.secure_channel(
            target, credentials, options=everything, interceptors=interceptors
        ),
        CertificateFiles(tls),
    )


def _names_replicas(target: str) -> bool:
    return target.startswith(("dns:", "ipv4:", "ipv6:"))


async def callers_authorization() -> str | None:
    """The header of the call being served: a neighbour that checks tokens itself gets the person's own."""
    call = current_call()
    return None if call is None else call.authorization


Continuation = Callable[[grpc.aio.ClientCallDetails, Any], Any]


class _Outgoing:
    """What every call takes along, and its span."""

    def __init__(self, authorization: Authorization | None) -> None:
        self._authorization = authorization
        # The event loop itself holds tasks weakly only.
        self._following: set[asyncio.Task[None]] = set()

    async def call(self, continuation: Continuation, details: grpc.aio.ClientCallDetails, sent: Any) -> Any:
        span = start_neighbour_span(_method(details))
        try:
            call = await continuation(await self._details(details, span), sent)
        except BaseException:
            if span is not None:
                span.end()
            raise
        if span is not None:
            task = follow(span, call)
            self._following.add(task)
            task.add_done_callback(self._following.discard)
        return call

    async def _details(
        self, details: grpc.aio.ClientCallDetails, span: Span | None
    ) -> grpc.aio.ClientCallDetails:
        metadata = details.metadata or grpc.aio.Metadata()
        call = current_call()
        if call is not None and REQUEST_ID_HEADER not in metadata:
            metadata.add(REQUEST_ID_HEADER, call.request_id)
        for name, value in trace_headers(span).items():
            metadata[name] = value
        if self._authorization is not None and (header := await self._authorization()) is not None:
            metadata[AUTHORIZATION_HEADER] = header
        timeout = DEFAULT_TIMEOUT_SECONDS if details.timeout is None else details.timeout
        return grpc.aio.ClientCallDetails(
            method=details.method,
            timeout=downstream_timeout(timeout),
            metadata=metadata,
            credentials=details.credentials,
            wait_for_ready=details.wait_for_ready,
        )


def _method(details: grpc.aio.ClientCallDetails) -> str:
    # gRPC's own types disagree: bytes at run time.
    method = details.method
    return method.decode() if isinstance(method, bytes) else str(method)


class _UnaryUnary(grpc.aio.UnaryUnaryClientInterceptor):
    def __init__(self, outgoing: _Outgoing) -> None:
        self._outgoing = outgoing

    async def intercept_unary_unary(
        self, continuation: Continuation, client_call_details: grpc.aio.ClientCallDetails, request: Any
    ) -> Any:
        return await self._outgoing.call(continuation, client_call_details, request)


class _UnaryStream(grpc.aio.UnaryStreamClientInterceptor):
    def __init__(self, outgoing: _Outgoing) -> None:
        self._outgoing = outgoing

    async def intercept_unary_stream(
        self, continuation: Continuation, client_call_details: grpc.aio.ClientCallDetails, request: Any
    ) -> Any:
        return await self._outgoing.call(continuation, client_call_details, request)


class _StreamUnary(grpc.aio.StreamUnaryClientInterceptor):
    def __init__(self, outgoing: _Outgoing) -> None:
        self._outgoing = outgoing

    async def intercept_stream_unary(
        self,
        continuation: Continuation,
        client_call_details: grpc.aio.ClientCallDetails,
        request_iterator: Any,
    ) -> Any:
        return await self._outgoing.call(continuation, client_call_details, request_iterator)
