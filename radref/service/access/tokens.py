"""Checks a token (JWT, RFC 7519, by the rules of RFC 8725) and reads who calls from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol

import jwt

from radref.errors import Unauthenticated
from radref.service.access.caller import Caller, Role
from radref.service.actor import MAX_ACTOR

# Tokens with hundreds of groups stay below it; gRPC's own limit on all metadata is 8 KiB by default.
MAX_TOKEN: Final = 16_384
_REQUIRED: Final = ("exp", "iat", "sub", "iss", "aud")


class KeyRing(Protocol):
    """Public keys by id."""

    async def get(self, key_id: str) -> jwt.PyJWK | None: ...


class TokenVerifier:
    """Accepts tokens of one issuer for one audience.

    Args:
        keys: of the issuer.
        issuer, audience: exactly as in the token.
        algorithms: accepted ones; what the token's header says chooses among these and no others.
        roles_claim: path of the claim with the roles, dots for nested ones.
        leeway: seconds tolerated for exp, nbf and iat.
    """

    def __init__(
        self,
        keys: KeyRing,
        *,
        issuer: str,
        audience: str,
        algorithms: Sequence[str],
        roles_claim: str,
        leeway: float,
    ) -> None:
        self._keys = keys
        self._issuer = issuer
        self._audience = audience
        self._algorithms = tuple(algorithms)
        self._roles_path = tuple(roles_claim.split("."))
        self._leeway = leeway

    async def verify(self, token: str) -> Caller:
        """The caller that the token proves.

        Raises:
            Unauthenticated: TOKEN_EXPIRED or TOKEN_INVALID; the message never holds a part of the token.
            Unavailable: the issuer's keys were never read.
        """
        if len(token) > MAX_TOKEN:
            raise _invalid("it is too long")
        try:
            header = jwt.get_unverified_header(token)
        except jwt.PyJWTError:
            raise _invalid("it is not a signed token") from None
        key_id, algorithm = header.get("kid"), header.get("alg")
        if algorithm not in self._algorithms:
            raise _invalid("its signature algorithm is not accepted")
        if not isinstance(key_id, str):
            raise _invalid("it names no key")
        key = await self._keys.get(key_id)
        if key is None:
            raise _invalid("its key is not one of the identity provider's")
        try:
            claims = jwt.decode(
                token,
                key,
                algorithms=[algorithm],
                audience=self._audience,
                issuer=self._issuer,
                leeway=self._leeway,
                options={"require": list(_REQUIRED)},
            )
        except jwt.ExpiredSignatureError:
            raise Unauthenticated("the token has expired: sign in again", reason="TOKEN_EXPIRED") from None
        except jwt.ImmatureSignatureError:
            raise _invalid("it is not valid yet") from None
        except jwt.InvalidAudienceError:
            raise _invalid("it was issued for another service") from None
        except jwt.InvalidIssuerError:
            raise _invalid("it comes from another issuer") from None
        except jwt.MissingRequiredClaimError:
            raise _invalid(f"it lacks one of the claims {', '.join(_REQUIRED)}") from None
        except (jwt.PyJWTError, ValueError, TypeError):
            raise _invalid("its signature does not hold") from None
        subject = claims["sub"]
        if not isinstance(subject, str) or not 1 <= len(subject) <= MAX_ACTOR or not subject.isprintable():
            raise _invalid(f"its subject is no name of 1-{MAX_ACTOR} printable characters")
        return Caller(subject, _roles(claims, self._roles_path))


def _roles(claims: Mapping[str, Any], path: Sequence[str]) -> frozenset[Role]:
    """Known roles of the claim, a list or words in one text; unknown ones mean nothing here."""
    value: Any = claims
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    if isinstance(value, str):
        value = value.split()
    if not isinstance(value, list):
        return frozenset()
    known = {str(role) for role in Role}
    return frozenset(Role(name) for name in value if isinstance(name, str) and name in known)


def _invalid(why: str) -> Unauthenticated:
    return Unauthenticated(f"the token is not accepted: {why}", reason="TOKEN_INVALID")
