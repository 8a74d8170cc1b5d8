"""The way to a Qdrant server: address, credentials, deadlines and repetitions."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import grpc
import structlog
from qdrant_client import AsyncQdrantClient, models

from radref.errors import PreconditionFailed, RadrefError
from radref.service.channels import CHANNEL_OPTIONS
from retrieval_svc.store.server.failures import Misconfigured, not_written, unavailable

T = TypeVar("T")
# Gets the client and whole seconds, >= 1, that the server may work on it.
Call = Callable[[AsyncQdrantClient, int], Awaitable[T]]

# The oldest server with everything that the adapter asks for (exact facets).
MINIMUM_VERSION = (1, 12)
# A connection that was lost is made again within this time where the server is there.
_PAUSE_SECONDS = 0.1

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """Where a server is and how it knows us.

    Attributes:
        tls: encrypt, and check the server's certificate.
        authority: PEM of the authority that signed it; empty = those that gRPC brings.
        api_key: empty = none.
    """

    host: str
    port: int
    tls: bool = False
    authority: bytes = b""
    api_key: str = field(default="", repr=False)


def open_client(address: ServerAddress, *, timeout: float) -> AsyncQdrantClient:
    """A client over gRPC; connects at the first call.

    Args:
        timeout: seconds that any call may take, > 0.
    """
    options: dict[str, Any] = {
        **dict(CHANNEL_OPTIONS),
        # A name with several addresses, one a node: a node that is down is passed over.
        "grpc.lb_policy_name": "round_robin",
    }
    if address.authority:
        options["root_certificates"] = address.authority
    return AsyncQdrantClient(
        host=address.host,
        grpc_port=address.port,
        prefer_grpc=True,
        https=address.tls,
        api_key=address.api_key or None,
        timeout=math.ceil(timeout),
        # Asks over HTTP, on another port; `Server.check` asks over gRPC.
        check_compatibility=False,
        grpc_options=options,
    )


class Server:
    """Calls a server through its client. Every failure is raised as `Unavailable`.

    A call is made a second time when the server was not there (UNAVAILABLE) and doing it twice does no harm:
    reads, and writes of what is never written differently. A record that is replaced is not written again by
    itself: the first attempt may still arrive, after a later change.

    Args:
        search_timeout: seconds for one search or for reading parents, > 0.
        timeout: seconds for any other call, > 0.
    """

    def __init__(self, client: AsyncQdrantClient, *, search_timeout: float, timeout: float) -> None:
        self._client = client
        self._search_timeout = search_timeout
        self._timeout = timeout

    async def check(self) -> None:
        """Makes sure that a server is there that this adapter can talk to.

        Raises:
            PreconditionFailed: it is none, too old, or refuses the credentials (INVALID_STATE).
            Unavailable: nothing answers.
        """
        try:
            version = (await self.read(lambda client, _: client.info())).version
            await self.read(lambda client, _: client.get_collections())
        except Misconfigured as exc:
            raise PreconditionFailed(exc.message, metadata=exc.metadata) from exc
        found = _numbers(version)
        if found < MINIMUM_VERSION:
            oldest = ".".join(map(str, MINIMUM_VERSION))
            raise PreconditionFailed(
                f"the Qdrant server has version {version[:32]!r}, this release needs {oldest} or newer",
                metadata={"backend": "vector-store"},
            )
        log.info("vector store reached", version=version[:32])

    async def search(self, call: Call[T]) -> T:
        """What a question waits for."""
        return await self._within(self._search_timeout, call, again=True)

    async def read(self, call: Call[T]) -> T:
        """Any other reading."""
        return await self._within(self._timeout, call, again=True)

    async def write(self, call: Call[models.UpdateResult], *, again: bool) -> None:
        """A write of points that waits until it is carried out.

        Args:
            again: make it a second time where the server was not there.
        """
        result = await self._within(self._timeout, call, again=again)
        if result.status is not models.UpdateStatus.COMPLETED:
            raise not_written()

    async def change(self, call: Call[bool]) -> None:
        """Makes or deletes a collection; once, for doing it twice is an error."""
        await self._within(self._timeout, call, again=False)

    async def close(self) -> None:
        await self._client.close()

    async def _within(self, seconds: float, call: Call[T], *, again: bool) -> T:
        whole = math.ceil(seconds)
        try:
            async with asyncio.timeout(seconds):
                try:
                    return await call(self._client, whole)
                except grpc.aio.AioRpcError as exc:
                    if not again or exc.code() is not grpc.StatusCode.UNAVAILABLE:
                        raise
                log.warning("vector store not reached, trying once more")
                await asyncio.sleep(_PAUSE_SECONDS)
                return await call(self._client, whole)
        except RadrefError:
            raise
        except Exception as exc:
            raise unavailable(exc) from exc


def _numbers(version: str) -> tuple[int, int]:
    """Major and minor; (0, 0) where it is no version."""
    major, _, rest = version.partition(".")
    minor = rest.partition(".")[0]
    return (int(major), int(minor)) if major.isdecimal() and minor.isdecimal() else (0, 0)
