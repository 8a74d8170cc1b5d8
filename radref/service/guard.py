"""What a call must pass before it is served, whatever transport it came by: token, role, rate, place."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

from radref.errors import DeadlineExceeded
from radref.service.access.access import Access
from radref.service.actor import LOCAL_ACTOR
from radref.service.admission import Admission
from radref.service.context import Call, accepted_request_id, current_call, set_current_call

# Our answer has to leave before the caller's own clock ends the call.
ANSWER_MARGIN_SECONDS = 0.02


@dataclass(frozen=True, slots=True)
class Guard:
    """One for a process: all its transports share the places and the counts of callers.

    Attributes:
        admission: bounds calls in flight.
        access: tokens, roles and rates; off by default.
    """

    admission: Admission
    access: Access = field(default_factory=Access)

    async def let_in(self, method: str, authorization: str | None) -> None:
        """Proves the caller, checks role and rate, and notes the caller on the current call.

        Args:
            method: full name, "/package.Service/Method".
            authorization: value of the header of that name; None = absent.

        Raises:
            Unauthenticated: TOKEN_MISSING, TOKEN_INVALID, TOKEN_EXPIRED.
            PermissionDenied: ROLE_REQUIRED.
            Overloaded: RATE_LIMITED.
        """
        name = LOCAL_ACTOR
        if self.access.control is not None:
            caller = await self.access.control.authorise(method, authorization)
            name = caller.subject
            call = current_call()
            if call is not None:
                set_current_call(replace(call, caller=caller, authorization=authorization or ""))
        if self.access.rate_limit is not None:
            self.access.rate_limit.take(name)

    @asynccontextmanager
    async def around(
        self, *, method: str, authorization: str | None, request_id: str | None, timeout: float | None
    ) -> AsyncIterator[Call]:
        """Everything at once, for a transport without interceptors of its own.

        Args:
            method, authorization: as in `let_in`; the method is the equivalent RPC.
            request_id: as the caller sent it; None or ill-formed = a new one.
            timeout: seconds until the answer is due.

        Raises:
            RadrefError: as `let_in`; Overloaded (OVERLOADED) when there is no place; DeadlineExceeded when
                the block ran past `timeout`.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        call = Call(accepted_request_id(request_id), method, deadline)
        set_current_call(call)
        async with due(timeout):
            await self.let_in(method, authorization)
            async with self.admission.place():
                yield current_call() or call


@asynccontextmanager
async def due(timeout: float | None) -> AsyncIterator[None]:
    """Ends the block shortly before a deadline that is `timeout` seconds away; None = never.

    Raises:
        DeadlineExceeded: it ran that long.
    """
    if timeout is None:
        yield
        return
    scope = asyncio.timeout(max(0.0, timeout - min(ANSWER_MARGIN_SECONDS, timeout * 0.1)))
    try:
        async with scope:
            yield
    except TimeoutError:
        # One of the block's own is the block's to explain.
        if not scope.expired():
            raise
        raise DeadlineExceeded("the answer was not ready before the deadline") from None
