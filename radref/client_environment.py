"""Token and certificates of a client, as the environment says. Secrets come from files or from here."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from radref.errors import InvalidInput
from radref.service.tls.files import TlsFiles


def token_from_environment() -> Callable[[], str] | None:
    """Gives the token: RADREF_TOKEN_FILE, read again for every call, else RADREF_TOKEN; None = neither."""
    if path := os.environ.get("RADREF_TOKEN_FILE"):
        return lambda: token_in(Path(path))
    if token := os.environ.get("RADREF_TOKEN", "").strip():
        return lambda: token
    return None


def token_in(path: Path) -> str:
    """The token a file holds.

    Raises:
        InvalidInput: the file cannot be read or is empty.
    """
    try:
        token = path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        token = ""
    if not token:
        raise InvalidInput(f"RADREF_TOKEN_FILE: {path} holds no token", field="RADREF_TOKEN_FILE")
    return token


def tls_from_environment() -> TlsFiles | None:
    """RADREF_CA_FILE turns TLS on; RADREF_CERT_FILE and RADREF_KEY_FILE add a certificate of one's own.

    Raises:
        InvalidInput: a certificate without its key, without authorities, or the other way round.
    """
    ca, cert, key = (os.environ.get(f"RADREF_{name}_FILE") for name in ("CA", "CERT", "KEY"))
    if bool(cert) != bool(key) or (cert and not ca):
        raise InvalidInput(
            "RADREF_CERT_FILE needs RADREF_KEY_FILE and RADREF_CA_FILE", field="RADREF_CERT_FILE"
        )
    if not ca:
        return None
    return TlsFiles(Path(ca), Path(cert) if cert else None, Path(key) if key else None)
