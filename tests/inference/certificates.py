"""A certificate authority of a test, and certificates of it."""

from __future__ import annotations

import datetime
import ipaddress
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@dataclass(frozen=True)
class CertificateAuthority:
    """Signs certificates; `path` is its own in PEM."""

    path: Path
    key: ec.EllipticCurvePrivateKey
    name: x509.Name

    def issue(self, folder: Path, file_name: str, *names: str) -> tuple[Path, Path]:
        """PEM files of a certificate for 127.0.0.1 and these DNS names or URIs, and of its key."""
        key = ec.generate_private_key(ec.SECP256R1())
        address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
        alternatives = x509.SubjectAlternativeName([address, *(_alternative(name) for name in names)])
        certificate = (
            _builder(_name("127.0.0.1"), self.name, key.public_key())
            .add_extension(alternatives, critical=False)
            .sign(self.key, hashes.SHA256())
        )
        paths = folder / f"{file_name}.pem", folder / f"{file_name}.key"
        paths[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        paths[1].write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        )
        return paths


def certificate_authority(folder: Path, file_name: str = "ca") -> CertificateAuthority:
    """A new authority whose certificate is written to the folder."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = _name("radref test authority")
    usage = x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=True,
        crl_sign=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
    certificate = (
        _builder(name, name, key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .sign(key, hashes.SHA256())
    )
    path = folder / f"{file_name}.pem"
    path.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    return CertificateAuthority(path, key, name)


def authority_and_server(folder: Path) -> tuple[Path, Path, Path]:
    """PEM files: the authority, a server's certificate for 127.0.0.1, its key."""
    authority = certificate_authority(folder)
    return authority.path, *authority.issue(folder, "server")


def _alternative(name: str) -> x509.GeneralName:
    return x509.UniformResourceIdentifier(name) if "://" in name else x509.DNSName(name)


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
    )
