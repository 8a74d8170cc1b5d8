"""Access settings become objects, for the composition roots of user-facing services.

Imported by those only: the others need neither PyJWT nor limits.
"""

from __future__ import annotations

from collections.abc import Mapping

from radref.service.access.access import Access
from radref.service.access.caller import Role
from radref.service.access.control import AccessControl
from radref.service.access.keys import KeyFile, Keys, KeyUrl
from radref.service.access.rate_limit import RateLimit
from radref.service.access.settings import AccessSettings
from radref.service.access.tokens import TokenVerifier
from radref.service.health import Component


def compose_access(settings: AccessSettings, rules: Mapping[str, frozenset[Role]]) -> Access:
    """Builds it.

    Args:
        settings: of the service.
        rules: roles by full method name.
    """
    rate_limit = RateLimit(settings.calls_per_minute) if settings.calls_per_minute else None
    if settings.mode == "off":
        return Access(rate_limit=rate_limit)
    keys = Keys(KeyFile(settings.jwks_file) if settings.jwks_file else KeyUrl(settings.jwks_url))
    verifier = TokenVerifier(
        keys,
        issuer=settings.issuer,
        audience=settings.audience,
        algorithms=settings.algorithms,
        roles_claim=settings.roles_claim,
        leeway=settings.clock_skew_seconds,
    )
    return Access(AccessControl(verifier, rules), rate_limit, (Component("jwks", keys.check),))
