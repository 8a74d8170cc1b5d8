"""Whether only this machine can reach an address."""

from __future__ import annotations

import ipaddress


def stays_on_this_machine(target: str) -> bool:
    """Whether a gRPC target is a Unix socket or host:port on loopback.

    Schemes ("dns:///localhost:1") and lists ("ipv4:127.0.0.1:1,10.0.0.1:1") count as leaving it: what they
    resolve to is not read here.
    """
    if target.startswith("unix:"):
        return True
    host, colon, _ = target.rpartition(":")
    return is_loopback(host if colon else target)


def is_loopback(host: str) -> bool:
    """True for 127.0.0.0/8, ::1 and localhost; any other name may resolve to anything."""
    host = host.strip("[]")
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
