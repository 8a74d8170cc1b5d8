"""Runs the REST facade inside the gateway's process and event loop."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import math
import socket
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import structlog
import uvicorn
from starlette.types import ASGIApp

# Idle connections of integrators' pools; longer than the usual gap between two questions of one user session.
KEEP_ALIVE_SECONDS: Final = 75
_BACKLOG: Final = 1024

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Tls:
    """Files in PEM. With `client_ca`, callers must show a certificate that it signed."""

    certificate: Path
    key: Path
    client_ca: Path | None = None


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals belong to the process, which drains in order."""
        yield


class RestServer:
    """Listens from construction on, answers while `run` runs.

    Args:
        address: host:port; port 0 picks a free one.
        app: the ASGI application.
        tls: None = without.
        mesh: a service mesh encrypts what reaches the address.

    Raises:
        ValueError: without TLS or a mesh the address must be loopback.
        OSError: the address cannot be used.
    """

    def __init__(self, address: str, app: ASGIApp, tls: Tls | None = None, *, mesh: bool = False) -> None:
        if tls is None and not mesh and not _is_loopback(address):
            raise ValueError(
                f"rest_listen {address} can be reached from other machines: questions and tokens would "
                "travel in the clear; set up TLS or listen on 127.0.0.1"
            )
        self._socket = _listen(address)
        self._server = _Server(
            uvicorn.Config(
                app,
                lifespan="off",
                ws="none",
                # Its own lines have no request id; ours have.
                log_config=None,
                log_level="error",
                access_log=False,
                # Who is before us is not known: what X-Forwarded-For claims is nobody's word.
                proxy_headers=False,
                server_header=False,
                timeout_keep_alive=KEEP_ALIVE_SECONDS,
                ssl_certfile=tls.certificate if tls else None,
                ssl_keyfile=tls.key if tls else None,
                ssl_ca_certs=str(tls.client_ca) if tls and tls.client_ca else None,
                ssl_cert_reqs=ssl.CERT_REQUIRED if tls and tls.client_ca else ssl.CERT_NONE,
            )
        )
        self._ended = asyncio.Event()

    @property
    def port(self) -> int:
        return int(self._socket.getsockname()[1])

    async def run(self) -> None:
        """Answers until `drain`; cancelling ends it at once."""
        log.info("listening", facade="rest", port=self.port)
        try:
            await self._server.serve(sockets=[self._socket])
        finally:
            self._ended.set()
            self._socket.close()

    async def drain(self, grace: float) -> None:
        """Takes no new requests and returns when `run` has ended.

        Args:
            grace: seconds for requests in flight; then they are cancelled.
        """
        self._server.config.timeout_graceful_shutdown = math.ceil(grace)
        self._server.should_exit = True
        await self._ended.wait()


def _is_loopback(address: str) -> bool:
    host = address.rpartition(":")[0].strip("[]")
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _listen(address: str) -> socket.socket:
    host, _, port = address.rpartition(":")
    host = host.strip("[]")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, int(port)), family=family, backlog=_BACKLOG)
