"""TLS of a server that picks up renewed certificates at the next connection."""

from __future__ import annotations

import grpc

from radref.service.tls.files import CertificateFiles, Certificates


def server_credentials(files: CertificateFiles, *, ask_peer: bool) -> grpc.ServerCredentials:
    """Credentials for one port.

    Args:
        files: own certificate, key and authorities; all three are needed.
        ask_peer: a connection needs a certificate of one of the authorities; False = none is asked for
            (gRPC for Python knows no "optional").
    """
    used = files.current()

    def fetch() -> grpc.ServerCertificateConfiguration | None:
        # gRPC calls this in a thread of its own, before each handshake.
        nonlocal used
        now = files.current()
        if now is used:
            return None
        used = now
        return _configuration(now, ask_peer)

    return grpc.dynamic_ssl_server_credentials(_configuration(used, ask_peer), fetch, ask_peer)


def _configuration(certificates: Certificates, ask_peer: bool) -> grpc.ServerCertificateConfiguration:
    return grpc.ssl_server_certificate_configuration(
        [(certificates.key, certificates.cert)], certificates.ca if ask_peer else None
    )
