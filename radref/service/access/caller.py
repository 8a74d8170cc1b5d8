"""Who calls, proven by a token."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Role(StrEnum):
    """What a caller may be; a token may hold several. None includes another one."""

    READER = "reader"
    CURATOR = "curator"
    APPROVER = "approver"
    ADMIN = "admin"


EVERYBODY = frozenset(Role)


@dataclass(frozen=True, slots=True)
class Caller:
    """A caller. `subject` is the token's, 1-200 printable characters."""

    subject: str
    roles: frozenset[Role]
