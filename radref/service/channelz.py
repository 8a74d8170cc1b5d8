"""channelz: gRPC's own view of this process's connections, on a port that only this machine reaches."""

from __future__ import annotations

import grpc
from grpc_channelz.v1.channelz import add_channelz_servicer


async def serve_channelz(address: str) -> grpc.aio.Server:
    """A started server. It shows peers' addresses and certificates, so `check_exposure` keeps it on loopback.

    Args:
        address: host:port on loopback; port 0 picks a free one.

    Raises:
        RuntimeError: the address cannot be used.
    """
    server = grpc.aio.server(options=(("grpc.so_reuseport", 0),))
    add_channelz_servicer(server)
    server.add_insecure_port(address)
    await server.start()
    return server
