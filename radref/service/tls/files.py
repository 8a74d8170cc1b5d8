"""PEM files that may be replaced while the process runs, as cert-manager and Kubernetes do."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import structlog
from cryptography import x509
from cryptography.hazmat.primitives import serialization

from radref.service.metrics import CERTIFICATE_EXPIRY

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """Where the files are.

    Attributes:
        ca: trusted authorities, PEM; None = those of the gRPC library (clients only).
        cert: own certificate with its chain; None = a client without one.
        key: its private key.
    """

    ca: Path | None
    cert: Path | None = None
    key: Path | None = None


@dataclass(frozen=True, slots=True)
class Certificates:
    """Contents of the files, checked against each other."""

    ca: bytes | None
    cert: bytes | None
    key: bytes | None


class CertificateFiles:
    """Reads the files and notices when they were replaced. Safe to use from any thread.

    Raises:
        ValueError: the files cannot be used now; the message names the file, never its content.
    """

    def __init__(self, files: TlsFiles) -> None:
        self._files = files
        self._lock = threading.Lock()
        self._seen = self._stamp()
        self._current = self._load()

    def current(self) -> Certificates:
        """What the files hold now; what they held before while they are unusable (half replaced)."""
        with self._lock:
            stamp = self._stamp()
            if stamp == self._seen:
                return self._current
            self._seen = stamp
            try:
                self._current = self._load()
            except ValueError as exc:
                log.error("new certificates cannot be used; the old ones go on", reason=str(exc))
            else:
                log.info("certificates read again")
            return self._current

    def _stamp(self) -> tuple[object, ...]:
        """Changes whenever a file or the link it is behind is replaced."""
        stamps: list[object] = []
        for path in (self._files.ca, self._files.cert, self._files.key):
            try:
                found = path.stat() if path is not None else None
            except OSError:
                found = None
            stamps.append(found and (found.st_ino, found.st_mtime_ns, found.st_size))
        return tuple(stamps)

    def _load(self) -> Certificates:
        ca, cert, key = (_read(path) for path in (self._files.ca, self._files.cert, self._files.key))
        if ca is not None:
            authorities = _certificates(ca, self._files.ca)
            _show_expiry("authority", min(each.not_valid_after_utc for each in authorities))
        if cert is not None and key is not None:
            own = _certificates(cert, self._files.cert)[0]
            _check_key(own, key, self._files.key)
            _show_expiry("own", own.not_valid_after_utc)
        return Certificates(ca, cert, key)


def _read(path: Path | None) -> bytes | None:
    try:
        return None if path is None else path.read_bytes()
    except OSError as exc:
        raise ValueError(f"cannot read {path}: {exc.strerror}") from None


def _certificates(data: bytes, path: Path | None) -> list[x509.Certificate]:
    try:
        return x509.load_pem_x509_certificates(data)
    except ValueError:
        raise ValueError(f"{path} holds no certificate in PEM") from None


def _check_key(certificate: x509.Certificate, key: bytes, path: Path | None) -> None:
    try:
        private = serialization.load_pem_private_key(key, None)
    except (ValueError, TypeError):
        raise ValueError(f"{path} holds no private key in PEM without password") from None
    if private.public_key() != certificate.public_key():
        raise ValueError(f"{path} is not the key of the certificate")


def _show_expiry(certificate: str, until: datetime) -> None:
    CERTIFICATE_EXPIRY.labels(certificate=certificate).set(until.timestamp())
    if until < datetime.now(UTC):
        log.error("a certificate has run out", certificate=certificate, until=until.isoformat())
