"""A client channel that is made anew when its certificates are replaced."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any, Self

import grpc
import structlog

from radref.service.tls.files import CertificateFiles, Certificates

# Three stat calls; often enough for a renewal, rarely enough not to be seen in a profile.
LOOK_EVERY_SECONDS = 1.0

log = structlog.get_logger()


def channel_credentials(certificates: Certificates) -> grpc.ChannelCredentials:
    """Credentials that show the own certificate, where there is one."""
    return grpc.ssl_channel_credentials(certificates.ca, certificates.key, certificates.cert)


class RenewedChannel(grpc.aio.Channel):
    """Behaves as a channel; new calls go over a connection with the newest certificates.

    The channel before is closed when the last of its calls has ended, so no call is cut off.

    Args:
        connect: makes a channel with these credentials.
        files: certificates of this process.
        clock: monotonic seconds.
    """

    def __init__(
        self,
        connect: Callable[[grpc.ChannelCredentials], grpc.aio.Channel],
        files: CertificateFiles,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._connect = connect
        self._files = files
        self._clock = clock
        self._looked_at = clock()
        self._used = files.current()
        self._connection = _Connection(connect(channel_credentials(self._used)))
        self._leaving: set[_Connection] = set()

    def connection(self) -> _Connection:
        """The connection for a new call."""
        now = self._clock()
        if now - self._looked_at >= LOOK_EVERY_SECONDS:
            self._looked_at = now
            certificates = self._files.current()
            if certificates is not self._used:
                self._used = certificates
                self._leave(self._connection)
                self._connection = _Connection(self._connect(channel_credentials(certificates)))
                log.info("connecting anew with renewed certificates")
        return self._connection

    def _leave(self, connection: _Connection) -> None:
        self._leaving.add(connection)
        connection.close_when_idle(lambda: self._leaving.discard(connection))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: object, error: object, trace: object) -> None:
        await self.close()

    async def close(self, grace: float | None = None) -> None:
        for connection in (*self._leaving, self._connection):
            await connection.channel.close(grace)
        self._leaving.clear()

    def get_state(self, try_to_connect: bool = False) -> grpc.ChannelConnectivity:
        return self._connection.channel.get_state(try_to_connect)

    async def wait_for_state_change(self, last_observed_state: grpc.ChannelConnectivity) -> None:
        await self._connection.channel.wait_for_state_change(last_observed_state)

    async def channel_ready(self) -> None:
        await self._connection.channel.channel_ready()

    def unary_unary(self, *args: Any, **kwargs: Any) -> Any:
        return _Method(self, "unary_unary", args, kwargs)

    def unary_stream(self, *args: Any, **kwargs: Any) -> Any:
        return _Method(self, "unary_stream", args, kwargs)

    def stream_unary(self, *args: Any, **kwargs: Any) -> Any:
        return _Method(self, "stream_unary", args, kwargs)

    def stream_stream(self, *args: Any, **kwargs: Any) -> Any:
        return _Method(self, "stream_stream", args, kwargs)


class _Connection:
    """A channel and how many calls it carries."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self.channel = channel
        self._calls = 0
        self._closed: Callable[[], None] | None = None
        self._closing: asyncio.Task[None] | None = None

    def carry(self, call: Any) -> Any:
        self._calls += 1
        call.add_done_callback(self._done)
        return call

    def close_when_idle(self, closed: Callable[[], None]) -> None:
        self._closed = closed
        self._close_if_idle()

    def _done(self, _: Any) -> None:
        self._calls -= 1
        self._close_if_idle()

    def _close_if_idle(self) -> None:
        if self._closed is not None and self._calls == 0 and self._closing is None:
            self._closing = asyncio.get_running_loop().create_task(self._close(self._closed))

    async def _close(self, closed: Callable[[], None]) -> None:
        await self.channel.close()
        closed()


class _Method:
    """One method of the API: each call is made on the connection of its moment."""

    def __init__(
        self, owner: RenewedChannel, kind: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        self._owner = owner
        self._kind = kind
        self._args = args
        self._kwargs = kwargs
        self._made: tuple[_Connection, Any] | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        connection = self._owner.connection()
        if self._made is None or self._made[0] is not connection:
            method = getattr(connection.channel, self._kind)(*self._args, **self._kwargs)
            self._made = (connection, method)
        return connection.carry(self._made[1](*args, **kwargs))
