"""What stands before a service."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from radref.service.access.control import AccessControl
from radref.service.health import Component


class Limiting(Protocol):
    """Counts calls of callers."""

    def take(self, caller: str) -> None:
        """Raises Overloaded: RATE_LIMITED."""


@dataclass(frozen=True, slots=True)
class Access:
    """What stands before a service.

    Attributes:
        control: None = off.
        rate_limit: None = no limit.
        components: what must have answered before the service is ready.
    """

    control: AccessControl | None = None
    rate_limit: Limiting | None = None
    components: tuple[Component, ...] = ()
