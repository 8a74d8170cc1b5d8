"""Checks bearer tokens (JWT): signature, algorithm, issuer, audience, times, claims."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jwt

from radref.errors import Unauthenticated
from radref.service.access.caller import Caller, Role
from radref.service.access.jwks import KeySet, SigningKey

# gRPC allows 8 KiB of headers by default; longer tokens do not arrive anyway.
MAX_TOKEN_CHARACTERS = 8192
MAX_SUBJECT_CHARACTERS = 200
REQUIRED_CLAIMS = ("exp", "iat", "iss", "aud", "sub")


@dataclass(frozen=True, slots=True)
class TokenRules:
    """Which tokens count.

    Attributes:
        issuer: the token's iss, exactly.
        audience: what its aud must hold.
        algorithms: accepted signature algorithms, asymmetric only.
        clock_skew: seconds by which exp, nbf and iat may be off, >= 0.
        roles_claim: path to the list (or the space separated string) of role names.
    """

    issuer: str
    audience: str
    algorithms: Sequence[str]
    clock_skew: float
    roles_claim: Sequence[str]


class TokenVerifier:
    """Turns tokens into callers."""

    def __init__(self, keys: KeySet, rules: TokenRules) -> None:
        self._keys = keys
        self._rules = rules

    async def verify(self, token: str) -> Caller:
        """The caller a token names.

        Raises:
            Unauthenticated: TOKEN_EXPIRED, or TOKEN_INVALID for other faults; the message never quotes it.
            Unavailable: the keys cannot be read.
        """
        kid, algorithm = self._header(token)
        key = await self._keys.key(kid)
        if key is None:
            raise _invalid("it is signed with a key the issuer does not have")
        if key.algorithm not in (None, algorithm):
            raise _invalid("its algorithm is not that of its key")
        claims = self._claims(token, key, algorithm)
        return Caller(_subject(claims), _roles(claims, self._rules.roles_claim))

    def _header(self, token: str) -> tuple[str, str]:
        if len(token) > MAX_TOKEN_CHARACTERS:
            raise _invalid("it is too long")
        try:
            header = jwt.get_unverified_header(token)
        except jwt.PyJWTError:
            raise _invalid("it is no JWT") from None
        algorithm, kid = header.get("alg"), header.get("kid")
        # Before anything else: "none" and shared-secret algorithms never reach a key.
        if algorithm not in self._rules.algorithms:
            raise _invalid("its algorithm is not accepted")
        if not isinstance(kid, str):
            raise _invalid("it does not name its key (kid)")
        return kid, str(algorithm)

    def _claims(self, token: str, key: SigningKey, algorithm: str) -> dict[str, Any]:
        try:
            claims: dict[str, Any] = jwt.decode(
                token,
                # The bare public key: a JWK without "alg" would be held to PyJWT's guess of it.
                key.key,
                algorithms=[algorithm],
                audience=self._rules.audience,
                issuer=self._rules.issuer,
                leeway=self._rules.clock_skew,
                options={"require": list(REQUIRED_CLAIMS), "verify_sub": True},
            )
        except jwt.ExpiredSignatureError:
            raise Unauthenticated("the token has expired; get a new one", reason="TOKEN_EXPIRED") from None
        except jwt.ImmatureSignatureError:
            raise _invalid("it is not valid yet") from None
        except jwt.MissingRequiredClaimError as exc:
            raise _invalid(f"it has no {exc.claim}") from None
        except jwt.InvalidAudienceError:
            raise _invalid("it is not meant for this service (aud)") from None
        except jwt.InvalidIssuerError:
            raise _invalid("it is from another issuer (iss)") from None
        except (jwt.PyJWTError, TypeError, ValueError, OverflowError):
            # The other three: a key of another kind than the algorithm, numbers out of range.
            raise _invalid("its signature or its claims are not good") from None
        return claims


def _subject(claims: dict[str, Any]) -> str:
    subject = claims["sub"]
    if (
        not isinstance(subject, str)
        or not 1 <= len(subject) <= MAX_SUBJECT_CHARACTERS
        or not subject.isprintable()
        or not subject.strip()
    ):
        raise _invalid(f"its sub is not a name of 1-{MAX_SUBJECT_CHARACTERS} printable characters")
    return subject


def _roles(claims: dict[str, Any], path: Sequence[str]) -> frozenset[Role]:
    found: Any = claims
    for part in path:
        found = found.get(part) if isinstance(found, dict) else None
    names = found.split() if isinstance(found, str) else found if isinstance(found, list) else []
    return frozenset(role for role in Role if role.value in names)


def _invalid(why: str) -> Unauthenticated:
    return Unauthenticated(f"the token does not count here: {why}", reason="TOKEN_INVALID")
