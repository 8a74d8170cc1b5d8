"""The ports of a gRPC server, with or without certificates."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Self

import grpc

from radref.service.settings import ServiceSettings, UserFacingSettings
from radref.service.tls.files import CertificateFiles
from radref.service.tls.peers import AllowedPeers
from radref.service.tls.server import server_credentials

# A renewal comes weeks before the old certificate ends; this only keeps the metric true without connections.
FRESHNESS_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class ServerPorts:
    """What the ports of one server share.

    Attributes:
        files: own certificate and authorities; None = no TLS in this process.
        peers: checked for every call; None = nobody shows a certificate.
    """

    files: CertificateFiles | None
    peers: AllowedPeers | None

    @classmethod
    def of(cls, settings: ServiceSettings) -> Self:
        """As the settings say.

        Raises:
            ValueError: the certificate files cannot be used.
        """
        files = settings.tls.files()
        if files is None:
            return cls(None, None)
        user_facing = isinstance(settings, UserFacingSettings)
        return cls(
            CertificateFiles(files),
            AllowedPeers(settings.tls.allowed_peer_names, required=not user_facing),
        )

    def open(self, server: grpc.aio.Server, settings: ServiceSettings) -> None:
        """Adds the ports. Where people call, `listen` asks for no certificate; `tls.peer_listen` does."""
        if self.files is None:
            server.add_insecure_port(settings.listen_address)
            return
        ask = not isinstance(settings, UserFacingSettings)
        server.add_secure_port(settings.listen_address, server_credentials(self.files, ask_peer=ask))
        if settings.tls.peer_listen:
            server.add_secure_port(settings.tls.peer_listen, server_credentials(self.files, ask_peer=True))

    async def keep_certificates_fresh(self) -> None:
        """Looks at the files until cancelled, so that the expiry metric follows a renewal."""
        while True:
            await asyncio.sleep(FRESHNESS_SECONDS)
            if self.files is not None:
                await asyncio.to_thread(self.files.current)
