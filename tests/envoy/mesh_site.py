"""Certificates of a mesh: an authority, and SPIFFE ids of the services' accounts as Istio gives them."""

from __future__ import annotations

from pathlib import Path

from radref.service.tls.files import TlsFiles
from tests.inference.certificates import CertificateAuthority, certificate_authority


def spiffe_id(account: str, namespace: str = "radref") -> str:
    return f"spiffe://cluster.local/ns/{namespace}/sa/{account}"


class Site:
    """A folder with an authority and what it signed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.authority = certificate_authority(folder)

    def of(self, account: str, authority: CertificateAuthority | None = None) -> TlsFiles:
        """Certificate of an account's proxy; `authority` = signed by another one."""
        return self.named(account, spiffe_id(account), authority=authority)

    def named(self, file_name: str, *names: str, authority: CertificateAuthority | None = None) -> TlsFiles:
        """Certificate with these names (DNS or URI)."""
        kind = "theirs" if authority else "ours"
        cert, key = (authority or self.authority).issue(self._folder, f"{kind}-{file_name}", *names)
        return TlsFiles(self.authority.path, cert, key)
