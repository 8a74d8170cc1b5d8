"""Who may call which method of the ingest service. A method that is not here is nobody's."""

from __future__ import annotations

from typing import Final

from radref.service.access.caller import EVERYBODY, Role

_SERVICE: Final = "/radref.api.ingest.v1.IngestService"
_KEEPERS: Final = frozenset({Role.CURATOR, Role.APPROVER, Role.ADMIN})
_ALLOWED: Final = {
    # What a citation leads to.
    EVERYBODY: ("GetPassage",),
    # Looking at the knowledge base, and trying a file without keeping it.
    _KEEPERS: (
        "ListDocuments",
        "GetDocument",
        "ListVersions",
        "DiffVersions",
        "WatchJob",
        "ListWatchedFiles",
        "ListAuditEvents",
        "ParseDocument",
    ),
    # Bringing documents; nothing of it is searched before somebody approved it, unless the source is trusted.
    frozenset({Role.CURATOR, Role.ADMIN}): ("SubmitDocument", "ReplaceDocument", "RetryJob", "SubmitVariant"),
    # Deciding what is searched.
    frozenset({Role.APPROVER, Role.ADMIN}): ("ReviewDocument", "RollbackDocument", "WithdrawDocument"),
    # Upkeep of the whole index.
    frozenset({Role.ADMIN}): ("VerifyIndex", "Reembed"),
}

RULES: Final = {f"{_SERVICE}/{method}": roles for roles, methods in _ALLOWED.items() for method in methods}
