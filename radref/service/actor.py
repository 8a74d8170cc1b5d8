"""Who calls, for the audit trail."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from radref.errors import InvalidInput
from radref.service.context import current_call

ACTOR_HEADER = "radref-actor"
# gRPC takes ASCII only in a text key; a name in another script comes here as UTF-8.
ACTOR_BINARY_HEADER = f"{ACTOR_HEADER}-bin"
# Who acts while access control is off and the caller does not say.
LOCAL_ACTOR = "local"
MAX_ACTOR = 200


class _Context(Protocol):
    def invocation_metadata(self) -> Sequence[tuple[str, str | bytes]] | None: ...


def actor_of(context: _Context) -> str:
    """Name of the caller for the audit trail.

    With access control it is the token's subject, whatever the metadata say: clients send the name of the
    operating system's user unasked. Without, it is what metadata `radref-actor` or `radref-actor-bin` (UTF-8)
    say, else "local": a claim, not a proof, by a program on this machine.

    Raises:
        InvalidInput: the name is longer than 200 characters, empty or not printable.
    """
    call = current_call()
    if call is not None and call.caller is not None:
        return call.caller.subject
    for key, value in context.invocation_metadata() or ():
        if key in (ACTOR_HEADER, ACTOR_BINARY_HEADER):
            name = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
            if not 1 <= len(name) <= MAX_ACTOR or not name.isprintable() or not name.strip():
                raise InvalidInput(
                    f"metadata {ACTOR_HEADER} is the caller's name, 1-{MAX_ACTOR} printable characters",
                    field=ACTOR_HEADER,
                )
            return name
    return LOCAL_ACTOR


def actor_metadata(actor: str) -> tuple[tuple[str, str | bytes], ...]:
    """What a caller sends so that `actor_of` finds this name; nothing for an empty one."""
    if not actor:
        return ()
    if actor.isascii() and actor.isprintable():
        return ((ACTOR_HEADER, actor),)
    # Plain metadata is ASCII only (gRPC over HTTP2); -bin takes the UTF-8 of any name.
    return ((ACTOR_BINARY_HEADER, actor.encode("utf-8", "replace")),)
