"""What belongs to the call being served: its id and its deadline, carried by context variables."""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from radref.service.access.caller import Caller

REQUEST_ID_HEADER = "x-request-id"
AUTHORIZATION_HEADER = "authorization"
# Left for the way back, so that a callee's DEADLINE_EXCEEDED arrives before ours is due.
DOWNSTREAM_MARGIN_SECONDS = 0.02

_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")


@dataclass(frozen=True, slots=True)
class Call:
    """The call being served.

    Attributes:
        request_id: from the caller's x-request-id, else made here; 1-64 characters.
        method: full method name, "/package.Service/Method".
        deadline: time.monotonic() value by which the answer is due; None = no deadline.
        caller: who calls, as the token says; None while access control is off, and before it was asked.
        authorization: the caller's header, to be handed on to a neighbour that checks it itself.
    """

    request_id: str
    method: str
    deadline: float | None
    caller: Caller | None = None
    authorization: str | None = field(default=None, repr=False)

    def remaining(self) -> float | None:
        """Seconds left, >= 0; None without a deadline."""
        return None if self.deadline is None else max(0.0, self.deadline - time.monotonic())


_current: ContextVar[Call | None] = ContextVar("radref_call", default=None)


def current_call() -> Call | None:
    """The call being served; None outside of one (background work)."""
    return _current.get()


def set_current_call(call: Call) -> None:
    _current.set(call)


@contextmanager
def serving_call(call: Call) -> Iterator[Call]:
    """Makes `call` the one being served until the block ends."""
    token = _current.set(call)
    try:
        yield call
    finally:
        _current.reset(token)


def new_request_id() -> str:
    return uuid.uuid4().hex


def accepted_request_id(value: str | None) -> str:
    """The caller's id when it is well formed, else a new one: it is logged, so it must be harmless."""
    return value if value is not None and _REQUEST_ID.fullmatch(value) else new_request_id()


def downstream_timeout(default: float) -> float:
    """Seconds a call to another service may take: what is left of our own deadline minus a margin.

    Args:
        default: seconds, used when no call is being served or it has no deadline; also the upper bound.
    """
    call = current_call()
    remaining = call.remaining() if call else None
    if remaining is None:
        return default
    return max(0.001, min(default, remaining - min(DOWNSTREAM_MARGIN_SECONDS, remaining * 0.1)))
