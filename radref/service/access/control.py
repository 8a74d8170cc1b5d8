"""Access control: from the authorization header of a call to its caller, or a refusal."""

from __future__ import annotations

from radref.errors import Unauthenticated
from radref.service.access.caller import Caller
from radref.service.access.jwks import KeySet, from_file, from_url
from radref.service.access.rules import AccessRules, check_role
from radref.service.access.settings import AccessSettings
from radref.service.access.tokens import TokenRules, TokenVerifier

_SCHEME = "bearer"


class AccessControl:
    """Decides who may call what. Default: nobody."""

    def __init__(self, verifier: TokenVerifier, rules: AccessRules) -> None:
        self._verifier = verifier
        self._rules = rules

    async def authorise(self, method: str, authorization: str | None) -> Caller:
        """The caller, who may call this method.

        Args:
            method: full method name, "/package.Service/Method".
            authorization: value of the header, "Bearer <token>"; None = absent.

        Raises:
            Unauthenticated: TOKEN_MISSING, TOKEN_INVALID, TOKEN_EXPIRED.
            PermissionDenied: ROLE_REQUIRED, also where the method has no rule.
            Unavailable: the issuer's keys cannot be read.
        """
        caller = await self.identify(authorization)
        check_role(self._rules, method, caller)
        return caller

    async def identify(self, authorization: str | None) -> Caller:
        """The caller, whatever the roles. Raises as `authorise`, without PermissionDenied."""
        scheme, _, token = (authorization or "").strip().partition(" ")
        token = token.strip()
        if scheme.lower() != _SCHEME or not token:
            raise Unauthenticated(
                "this service wants a token: authorization: Bearer <token>", reason="TOKEN_MISSING"
            )
        return await self._verifier.verify(token)


def access_control(settings: AccessSettings, rules: AccessRules) -> AccessControl | None:
    """Access control as the settings say; None = off."""
    if settings.mode == "off":
        return None
    if settings.jwks_file is not None:
        fetch = from_file(settings.jwks_file)
    else:
        fetch = from_url(settings.jwks_url, settings.jwks_ca_file)
    return AccessControl(
        TokenVerifier(
            KeySet(fetch, max_age=settings.jwks_cache_seconds),
            TokenRules(
                issuer=settings.issuer,
                audience=settings.audience,
                algorithms=settings.algorithms,
                clock_skew=settings.clock_skew_seconds,
                roles_claim=settings.roles_claim,
            ),
        ),
        rules,
    )
