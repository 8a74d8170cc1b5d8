"""An issuer of tokens for tests: keys, their public set, good and bad tokens."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt.algorithms import ECAlgorithm

from radref.service.access.control import AccessControl
from radref.service.access.jwks import Fetch, KeySet
from radref.service.access.rules import AccessRules
from radref.service.access.tokens import TokenRules, TokenVerifier

ISSUER = "https://issuer.test/realm"
AUDIENCE = "radref"
RULES = TokenRules(
    issuer=ISSUER, audience=AUDIENCE, algorithms=("ES256",), clock_skew=30, roles_claim=("roles",)
)


class Issuer:
    """One key at a time; `rotate` takes another."""

    def __init__(self) -> None:
        self._number = 0
        self.rotate()

    def rotate(self) -> None:
        self._number += 1
        self.kid = f"key-{self._number}"
        self.key = ec.generate_private_key(ec.SECP256R1())

    def jwks(self) -> bytes:
        entry = json.loads(ECAlgorithm.to_jwk(self.key.public_key()))
        return json.dumps({"keys": [{**entry, "kid": self.kid, "use": "sig", "alg": "ES256"}]}).encode()

    def claims(self, **changes: Any) -> dict[str, Any]:
        """Good claims with these changes; a claim that is None is left out."""
        now = int(time.time())
        good = {
            "iss": ISSUER,
            "aud": AUDIENCE,
            "sub": "dr.weber",
            "iat": now,
            "exp": now + 300,
            "roles": ["reader"],
        }
        return {name: value for name, value in {**good, **changes}.items() if value is not None}

    def token(self, **changes: Any) -> str:
        return jwt.encode(self.claims(**changes), self.key, "ES256", headers={"kid": self.kid})

    def unsigned(self, **changes: Any) -> str:
        """alg none, as an attacker writes it."""
        parts = ({"alg": "none", "typ": "JWT", "kid": self.kid}, self.claims(**changes))
        return ".".join(map(_encoded, map(_json, parts))) + "."

    def signed_with_public_key(self, **changes: Any) -> str:
        """HS256 with the public key as the secret: passes where the algorithm is the token's choice."""
        public = self.key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        head = {"alg": "HS256", "typ": "JWT", "kid": self.kid}
        signed = ".".join(map(_encoded, map(_json, (head, self.claims(**changes)))))
        return f"{signed}.{_encoded(hmac.new(public, signed.encode(), hashlib.sha256).digest())}"


def access_with(fetch: Fetch, rules: AccessRules) -> AccessControl:
    return AccessControl(TokenVerifier(KeySet(fetch, max_age=600), RULES), rules)


def _json(value: Any) -> bytes:
    return json.dumps(value).encode()


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
