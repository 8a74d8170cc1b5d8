"""Which roles each method of the gateway is for, and which methods need a model."""

from __future__ import annotations

from radref.api.gateway.v1 import gateway_pb2
from radref.service.access.caller import Role
from radref.service.access.rules import ANY_ROLE, rules_of

_SERVICE = gateway_pb2.DESCRIPTOR.services_by_name["GatewayService"].full_name

# They take as long as the models do; the others look something up.
NEEDS_MODEL = frozenset(
    f"/{_SERVICE}/{name}" for name in ("Search", "Prompt", "Generate", "StreamGenerate", "Consult")
)

ACCESS_RULES = rules_of(
    _SERVICE,
    {
        "Search": ANY_ROLE,
        "Prompt": ANY_ROLE,
        "Generate": ANY_ROLE,
        "StreamGenerate": ANY_ROLE,
        "Consult": ANY_ROLE,
        "GetSource": ANY_ROLE,
        "SubmitFeedback": ANY_ROLE,
        # Who asked what is about people, not about documents.
        "QueryAudit": frozenset({Role.ADMIN}),
        "ListFeedback": frozenset({Role.ADMIN}),
    },
)
