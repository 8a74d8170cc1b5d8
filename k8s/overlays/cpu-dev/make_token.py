"""Makes a token for the cpu-dev overlay, and the keys file that its services check it with. For trials only.

    python k8s/overlays/cpu-dev/make_token.py --folder .radref/dev --roles reader curator approver
    kubectl -n radref create configmap radref-dev-keys --from-file=.radref/dev/jwks.json

The private key is made once and stays in the folder; whoever has it can make tokens.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from jwt.algorithms import ECAlgorithm

ISSUER = "https://radref.invalid/cpu-dev"
AUDIENCE = "radref"
KEY_ID = "cpu-dev"


def private_key(folder: Path) -> ec.EllipticCurvePrivateKey:
    """The key in the folder, made when it is not there; only its owner may read it."""
    path = folder / "private-key.pem"
    if path.exists():
        key = serialization.load_pem_private_key(path.read_bytes(), None)
        if not isinstance(key, ec.EllipticCurvePrivateKey):
            raise SystemExit(f"{path} is not an elliptic-curve key")
        return key
    key = ec.generate_private_key(ec.SECP256R1())
    pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(pem)
    return key


def key_set(key: ec.EllipticCurvePrivateKey) -> dict[str, object]:
    """The public key as a JWKS."""
    public = json.loads(ECAlgorithm.to_jwk(key.public_key()))
    return {"keys": [{**public, "kid": KEY_ID, "use": "sig", "alg": "ES256"}]}


def token(key: ec.EllipticCurvePrivateKey, *, subject: str, roles: list[str], hours: float) -> str:
    """A token that counts for `hours` from now."""
    now = int(time.time())
    claims = {
        "iss": ISSUER,
        "aud": AUDIENCE,
        "sub": subject,
        "roles": roles,
        "iat": now,
        "exp": now + round(hours * 3600),
    }
    return jwt.encode(claims, key, algorithm="ES256", headers={"kid": KEY_ID})


def main() -> None:
    parser = argparse.ArgumentParser(description="A token for the cpu-dev overlay")
    parser.add_argument("--folder", type=Path, required=True, help="where key and keys file are")
    parser.add_argument("--subject", default="developer", help="who asks, in the audit trail")
    parser.add_argument("--roles", nargs="+", default=["reader"], help="reader curator approver admin")
    parser.add_argument("--hours", type=float, default=8.0, help="how long it counts")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    key = private_key(arguments.folder)
    (arguments.folder / "jwks.json").write_text(json.dumps(key_set(key)), encoding="utf-8")
    print(token(key, subject=arguments.subject, roles=arguments.roles, hours=arguments.hours))


if __name__ == "__main__":
    main()
