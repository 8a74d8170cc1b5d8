"""Who may call which method of the gateway. A method that is not here is nobody's."""

from __future__ import annotations

from typing import Final

from radref.service.access.caller import EVERYBODY, Role

_SERVICE: Final = "/radref.api.gateway.v1.GatewayService"

RULES: Final = {
    **{
        f"{_SERVICE}/{method}": EVERYBODY
        for method in (
            "Search",
            "Prompt",
            "Generate",
            "StreamGenerate",
            "Consult",
            "GetSource",
            "SubmitFeedback",
        )
    },
    **{f"{_SERVICE}/{method}": frozenset({Role.ADMIN}) for method in ("QueryAudit", "ListFeedback")},
}
