"""Who asks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from radref.service.actor import LOCAL_ACTOR, actor_of
from radref.service.context import current_call


class _Context(Protocol):
    def invocation_metadata(self) -> Sequence[tuple[str, str | bytes]] | None: ...


def asker(context: _Context | None = None) -> str:
    """The subject of the caller's token; without access control what the caller says, else "local".

    Raises:
        InvalidInput: as `actor_of`.
    """
    if context is not None:
        return actor_of(context)
    call = current_call()
    return call.caller.subject if call is not None and call.caller is not None else LOCAL_ACTOR
