"""Sets the current call and its deadline; radref/service/guard.py takes its place."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from radref.errors import DeadlineExceeded
from radref.service.context import Call, new_request_id, set_current_call

# As in radref.service.interceptors: our answer has to leave before the caller's own clock ends the call.
_ANSWER_MARGIN_SECONDS = 0.02


class CallGuard:
    """Refuses nobody."""

    @asynccontextmanager
    async def around(
        self, *, method: str, authorization: str | None, request_id: str | None, timeout: float | None
    ) -> AsyncIterator[Call]:
        deadline = None if timeout is None else time.monotonic() + timeout
        call = Call(request_id or new_request_id(), method, deadline)
        set_current_call(call)
        scope = asyncio.timeout(None if timeout is None else max(0.0, timeout - _ANSWER_MARGIN_SECONDS))
        try:
            async with scope:
                yield call
        except TimeoutError:
            if not scope.expired():
                raise
            raise DeadlineExceeded("the answer was not ready before the deadline") from None
