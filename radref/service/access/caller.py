"""Who calls, as a verified token says."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Role(enum.StrEnum):
    """What a token can allow; the values are the names in the token's role claim."""

    READER = "reader"
    CURATOR = "curator"
    APPROVER = "approver"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True)
class Caller:
    """A verified caller.

    Attributes:
        subject: the token's `sub`, 1-200 printable characters; the actor of the audit trail.
        roles: its roles; names that are no role of radref are left out.
    """

    subject: str
    roles: frozenset[Role]
