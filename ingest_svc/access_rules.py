"""Which roles each method of the ingest service is for.

Who uploads does not approve, and who approves does not upload: a person who may do both has both roles.
"""

from __future__ import annotations

from radref.api.ingest.v1 import ingest_pb2
from radref.service.access.caller import Role
from radref.service.access.rules import ANY_ROLE, rules_of

# Drafts and refused documents are for those who work on them, not for readers.
_STAFF = frozenset({Role.CURATOR, Role.APPROVER, Role.ADMIN})
_CURATORS = frozenset({Role.CURATOR})
_APPROVERS = frozenset({Role.APPROVER})
_ADMINS = frozenset({Role.ADMIN})

ACCESS_RULES = rules_of(
    ingest_pb2.DESCRIPTOR.services_by_name["IngestService"].full_name,
    {
        # The gateway asks with the token of the person who follows a citation.
        "GetPassage": ANY_ROLE,
        "ListDocuments": _STAFF,
        "GetDocument": _STAFF,
        "ListVersions": _STAFF,
        "DiffVersions": _STAFF,
        "ListWatchedFiles": _STAFF,
        "WatchJob": _STAFF,
        # An approval and a re-embedding also start jobs, which may fail.
        "RetryJob": _STAFF,
        "SubmitDocument": _CURATORS,
        "ReplaceDocument": _CURATORS,
        "ParseDocument": _CURATORS,
        "SubmitVariant": _CURATORS,
        "ReviewDocument": _APPROVERS,
        "RollbackDocument": _APPROVERS,
        "WithdrawDocument": _APPROVERS,
        # A reviewer judges a change by its history.
        "ListAuditEvents": _APPROVERS | _ADMINS,
        "VerifyIndex": _ADMINS,
        "Reembed": _ADMINS,
    },
)
