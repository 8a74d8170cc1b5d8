"""An identity provider for tests: keys, a key set that can rotate, and tokens of every bad kind."""

from __future__ import annotations

import base64
import json
import time
from dataclasses import dataclass, field
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

from radref.service.access.settings import AccessSettings

ISSUER = "https://idp.hospital.example/realms/clinic"
AUDIENCE = "radref"


def _rsa() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


@dataclass
class Provider:
    """Signs with the newest key; its set holds all that were not withdrawn.

    Attributes:
        keys: private keys by id.
        reads: how often the set was asked for.
        down: whether asking for it fails.
    """

    keys: dict[str, Any] = field(default_factory=lambda: {"k1": _rsa()})
    reads: int = 0
    down: bool = False

    def rotate(self, key_id: str, *, withdraw: bool = False) -> None:
        if withdraw:
            self.keys.clear()
        self.keys[key_id] = ec.generate_private_key(ec.SECP256R1()) if key_id.startswith("ec") else _rsa()

    def key_set(self) -> bytes:
        entries = []
        for key_id, key in self.keys.items():
            elliptic = isinstance(key, ec.EllipticCurvePrivateKey)
            public = (ECAlgorithm if elliptic else RSAAlgorithm).to_jwk(key.public_key(), as_dict=True)
            entries.append({**public, "kid": key_id, "use": "sig", "alg": "ES256" if elliptic else "RS256"})
        return json.dumps({"keys": entries}).encode()

    def read(self) -> bytes:
        self.reads += 1
        if self.down:
            raise OSError("connection refused")
        return self.key_set()

    def token(
        self, *roles: str, key_id: str = "", header: dict[str, Any] | None = None, **claims: Any
    ) -> str:
        """A good token but for what is given; a claim of None is left out."""
        key_id = key_id or list(self.keys)[-1]
        now = int(time.time())
        body = {
            "iss": ISSUER,
            "aud": AUDIENCE,
            "sub": "dr.ivanova",
            "iat": now,
            "exp": now + 300,
            "roles": list(roles),
            **claims,
        }
        elliptic = isinstance(self.keys[key_id], ec.EllipticCurvePrivateKey)
        return jwt.encode(
            {name: value for name, value in body.items() if value is not None},
            self.keys[key_id],
            algorithm="ES256" if elliptic else "RS256",
            headers={"kid": key_id, **(header or {})},
        )

    def unsigned(self, *roles: str) -> str:
        """`alg: none`, as RFC 8725 warns of."""
        claims = self.token(*roles).split(".")[1]
        head = base64.urlsafe_b64encode(b'{"alg":"none","kid":"k1","typ":"JWT"}').rstrip(b"=").decode()
        return f"{head}.{claims}."

    def confused(self, *roles: str) -> str:
        """Signed by HMAC with the public key as the secret."""
        import hashlib
        import hmac

        key_id = next(iter(self.keys))
        public = self.keys[key_id].public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        claims = self.token(*roles, key_id=key_id).split(".")[1]
        head = json.dumps({"alg": "HS256", "kid": key_id, "typ": "JWT"}).encode()
        text = base64.urlsafe_b64encode(head).rstrip(b"=").decode() + "." + claims
        mac = base64.urlsafe_b64encode(hmac.new(public, text.encode(), hashlib.sha256).digest())
        return f"{text}.{mac.rstrip(b'=').decode()}"


def settings(path: Any, **more: Any) -> AccessSettings:
    return AccessSettings(mode="jwt", issuer=ISSUER, audience=AUDIENCE, jwks_file=path, **more)
