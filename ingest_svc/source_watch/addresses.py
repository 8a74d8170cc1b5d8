"""Which web addresses may be fetched: named hosts only, never the inside of a network."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Collection
from urllib.parse import SplitResult, urlsplit

from ingest_svc.source_watch.model import LookFailed

_PORTS = {"http": 80, "https": 443}

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class AddressRules:
    """An allow-list of hosts, and the refusal of addresses that are not public."""

    def __init__(self, hosts: Collection[str], *, only_public: bool = True) -> None:
        """
        Args:
            hosts: host names that may be asked, without port; no patterns.
            only_public: refuse hosts with a private, loopback, link-local or otherwise special address. Off
                for tests on the loopback only.
        """
        self._hosts = frozenset(host.rstrip(".").casefold() for host in hosts)
        self._only_public = only_public

    def check(self, url: str) -> SplitResult:
        """The parts of an address that may be asked.

        Raises:
            LookFailed: another scheme than http and https, user data in the address, a host off the list.
        """
        try:
            parts = urlsplit(url)
            host, _ = parts.hostname, parts.port
            ascii_host(parts)
        except ValueError:
            raise LookFailed("the address is not well formed") from None
        if parts.scheme not in _PORTS:
            raise LookFailed(f"the scheme {parts.scheme[:20]!r} is not allowed: only http and https")
        if parts.username is not None or parts.password is not None:
            raise LookFailed("an address with user name or password is not allowed")
        if host is None or host.rstrip(".").casefold() not in self._hosts:
            raise LookFailed(f"the host {(host or '')[:100]!r} is not on the list of allowed hosts")
        return parts

    async def resolve(self, parts: SplitResult) -> str:
        """The numeric address to connect to: what was checked is what is asked, also when the name changes.

        Raises:
            LookFailed: the name is not known, or one of its addresses is not public.
        """
        host, port = ascii_host(parts), parts.port or _PORTS[parts.scheme]
        try:
            found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except OSError:
            raise LookFailed(f"the host {host[:100]!r} has no known address") from None
        addresses = [ipaddress.ip_address(str(entry[4][0]).partition("%")[0]) for entry in found]
        if self._only_public and not all(map(_is_public, addresses)):
            raise LookFailed(f"the host {host[:100]!r} has an address inside a private network")
        return str(addresses[0])


def ascii_host(parts: SplitResult) -> str:
    """The host as it goes over the wire, e.g. "xn--80ankme.xn--p1ai" for "закон.рф".

    Raises:
        ValueError: the name has no such form.
    """
    host = parts.hostname or ""
    return host if host.isascii() else host.encode("idna").decode("ascii")


def _is_public(address: Address) -> bool:
    if isinstance(address, ipaddress.IPv6Address):
        # ::ffff:10.0.0.1, 6to4 and Teredo carry an IPv4 address that must be public by itself.
        inner = [address.ipv4_mapped, address.sixtofour, *(address.teredo or ())]
        if any(one is not None and not _is_public(one) for one in inner):
            return False
        if address.ipv4_mapped is not None:
            return True
    return address.is_global and not address.is_multicast
