"""Which addresses only this machine reaches."""

from __future__ import annotations

import ipaddress


def is_loopback_host(host: str) -> bool:
    """Whether only this machine reaches a host name or address; brackets of IPv6 do not matter."""
    host = host.strip("[]")
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def is_loopback(address: str) -> bool:
    """The same for host:port."""
    return is_loopback_host(address.rpartition(":")[0])
