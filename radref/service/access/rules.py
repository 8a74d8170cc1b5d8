"""Which roles a method is for. A method without a rule is for nobody."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from radref.errors import PermissionDenied
from radref.service.access.caller import Caller, Role

# Full method name ("/package.Service/Method") to the roles of which a caller needs one.
AccessRules: TypeAlias = Mapping[str, frozenset[Role]]

ANY_ROLE = frozenset(Role)


def rules_of(service: str, roles: Mapping[str, frozenset[Role]]) -> AccessRules:
    """Rules of one service.

    Args:
        service: full service name, e.g. "radref.api.gateway.v1.GatewayService".
        roles: method name without service to its roles.
    """
    return {f"/{service}/{method}": allowed for method, allowed in roles.items()}


def check_role(rules: AccessRules, method: str, caller: Caller) -> None:
    """Passes when the caller has a role of the method.

    Raises:
        PermissionDenied: ROLE_REQUIRED, the caller has none of them, or the method has no rule.
    """
    needed = rules.get(method, frozenset())
    if not needed:
        raise PermissionDenied("no rule allows anybody to call this method", metadata={"roles": ""})
    if not needed & caller.roles:
        names = ", ".join(sorted(needed))
        raise PermissionDenied(f"this needs one of the roles: {names}", metadata={"roles": names})
