"""The decision: who calls, and may they."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from radref.errors import PermissionDenied, Unauthenticated
from radref.service.access.caller import Caller, Role

# Reads what the API looks like; any valid token may.
_REFLECTION_PREFIX = "/grpc.reflection."


class Verifying(Protocol):
    """Checks tokens."""

    async def verify(self, token: str) -> Caller: ...


class AccessControl:
    """Default deny: a method without a rule is nobody's.

    Args:
        verifier: checks tokens.
        rules: roles that may call a method, by full name "/package.Service/Method"; one of them is enough.
    """

    def __init__(self, verifier: Verifying, rules: Mapping[str, frozenset[Role]]) -> None:
        self._verifier = verifier
        self._rules = dict(rules)

    async def authorise(self, method: str, authorization: str | None) -> Caller:
        """The caller, who may call this method.

        Args:
            method: full name.
            authorization: value of the header of that name; None = absent.

        Raises:
            Unauthenticated: TOKEN_MISSING, TOKEN_INVALID, TOKEN_EXPIRED.
            PermissionDenied: ROLE_REQUIRED.
            Unavailable: the keys of the identity provider were never read.
        """
        scheme, _, token = (authorization or "").strip().partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            raise Unauthenticated(
                "this call needs a token: send 'authorization: Bearer TOKEN'", reason="TOKEN_MISSING"
            )
        caller = await self._verifier.verify(token.strip())
        allowed = self._rules.get(method, frozenset())
        if method.startswith(_REFLECTION_PREFIX) or caller.roles & allowed:
            return caller
        wanted = " or ".join(sorted(allowed))
        raise PermissionDenied(
            f"this call needs the role {wanted}" if wanted else "this call is open to nobody",
            reason="ROLE_REQUIRED",
            metadata={"roles": ",".join(sorted(allowed))},
        )
