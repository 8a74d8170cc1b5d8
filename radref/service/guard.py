"""What stands before every call, whatever the transport: who calls, how often, how long, how many at once.

One guard a process: gRPC and a REST facade share it, so that a caller has one rate and the service one queue.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import replace

import structlog

from radref import errors
from radref.service import context as call_context
from radref.service.access.control import AccessControl, access_control
from radref.service.access.rate_limit import RateLimit
from radref.service.access.rules import AccessRules
from radref.service.admission import Admission
from radref.service.metrics import ACCESS_REFUSED
from radref.service.settings import ServiceSettings, UserFacingSettings

# Our answer has to arrive before the caller's own clock ends the call, on a busy machine too: what the
# caller's clock ends has no reason with it. With 0.02 s and a tenth, 3 of 100 calls had none
# (benchmarks/deadline_lateness.py, load average 3 on two cores).
_ANSWER_MARGIN_SECONDS = 0.05
_ANSWER_MARGIN_SHARE = 0.2


class Guard:
    """Admits calls.

    Args:
        admission: bounds calls in flight.
        model_admission: bounds those of them that need a model; None = `admission` alone.
        needs_model: full names of those methods.
        access: who may call what; None = everybody (loopback only, see `exposure`).
        rate_limit: how often one caller may call; None = no limit. Counts only known callers.
        require_deadline: refuse calls without a deadline.
        long_lived: full names of methods that stream for minutes ("/package.Service/Method"); they need no
            deadline, take no admission place and are ended when the service drains.

    Attributes:
        draining: to be set when the service is about to stop.
    """

    def __init__(
        self,
        *,
        admission: Admission,
        model_admission: Admission | None = None,
        needs_model: frozenset[str] = frozenset(),
        access: AccessControl | None = None,
        rate_limit: RateLimit | None = None,
        require_deadline: bool = True,
        long_lived: frozenset[str] = frozenset(),
        draining: asyncio.Event | None = None,
    ) -> None:
        self.access = access
        self.draining = draining or asyncio.Event()
        self._admission = admission
        self._model_admission = model_admission
        self._needs_model = needs_model
        self._rate_limit = rate_limit
        self._require_deadline = require_deadline
        self._long_lived = long_lived

    @asynccontextmanager
    async def around(
        self,
        *,
        method: str,
        authorization: str | None,
        request_id: str | None,
        timeout: float | None,
    ) -> AsyncIterator[call_context.Call]:
        """Serves one call inside the block. Enter and leave it in the same task.

        Args:
            method: full name of the gRPC method this call stands for, "/package.Service/Method".
            authorization: value of the authorization header; None = absent.
            request_id: the caller's x-request-id; None or a malformed one = made here.
            timeout: seconds until the caller gives up; None = no deadline.

        Yields:
            the call, with its caller; `current_call()` gives the same inside the block.

        Raises:
            Unauthenticated, PermissionDenied: see AccessControl.authorise.
            InvalidInput: DEADLINE_REQUIRED.
            Overloaded: RATE_LIMITED or OVERLOADED, with `retry_after`.
            DeadlineExceeded: the block took longer than `timeout`; it was cancelled.
            Unavailable: NOT_READY, a long-lived stream while the service stops; or no keys for tokens.
        """
        call = call_context.Call(
            request_id=call_context.accepted_request_id(request_id),
            method=method,
            deadline=None if timeout is None else time.monotonic() + timeout,
        )
        with (
            call_context.serving_call(call),
            structlog.contextvars.bound_contextvars(request_id=call.request_id),
        ):
            async with self.admit(call, authorization) as admitted:
                yield admitted

    @asynccontextmanager
    async def admit(
        self, call: call_context.Call, authorization: str | None
    ) -> AsyncIterator[call_context.Call]:
        """The inner part of `around`, for a call whose id and deadline are known and set."""
        long_lived = call.method in self._long_lived
        async with _in_time(call, required=self._require_deadline and not long_lived):
            if self.access is not None:
                with _refusals_counted():
                    caller = await self.access.authorise(call.method, authorization)
                call = replace(call, caller=caller, authorization=authorization)
                call_context.set_current_call(call)
                if self._rate_limit is not None:
                    self._rate_limit.take(caller.subject)
            async with self._place(call.method, long_lived):
                yield call

    async def check_reflection(self, authorization: str | None) -> None:
        """Reflection is for everybody with a token that counts, and for all while access control is off.

        Raises:
            Unauthenticated, Unavailable: see AccessControl.identify.
        """
        if self.access is not None:
            with _refusals_counted():
                await self.access.identify(authorization)

    def _place(self, method: str, long_lived: bool) -> AbstractAsyncContextManager[None]:
        if long_lived:
            return until_draining(self.draining)
        # One or the other: a call that waits for a model must not keep a look-up from its place.
        if self._model_admission is not None and method in self._needs_model:
            return self._model_admission.place(method)
        return self._admission.place(method)


def guard_of(
    settings: ServiceSettings,
    *,
    rules: AccessRules | None = None,
    long_lived: frozenset[str] = frozenset(),
    model_calls: int = 0,
    needs_model: frozenset[str] = frozenset(),
) -> Guard:
    """The guard as the settings say.

    Args:
        settings: of the service; access control and rate limits exist in UserFacingSettings only.
        rules: which roles a method is for; a method that is missing is for nobody.
        long_lived: as in Guard.
        model_calls: calls of `needs_model` worked on at once, of their own; 0 = `max_inflight` bounds all.
        needs_model: as in Guard.
    """
    access, rate_limit = None, None
    if isinstance(settings, UserFacingSettings):
        access = access_control(settings.access, rules or {})
        if settings.rate_limit.calls_per_minute:
            rate_limit = RateLimit(settings.rate_limit.calls_per_minute, settings.rate_limit.burst)
    return Guard(
        admission=Admission(settings.max_inflight, settings.max_queue),
        model_admission=Admission(model_calls, settings.max_queue) if model_calls else None,
        needs_model=needs_model,
        access=access,
        rate_limit=rate_limit,
        require_deadline=settings.require_deadline,
        long_lived=long_lived,
    )


@contextmanager
def _refusals_counted() -> Iterator[None]:
    try:
        yield
    except (errors.Unauthenticated, errors.PermissionDenied) as exc:
        ACCESS_REFUSED.labels(reason=exc.reason).inc()
        raise


@asynccontextmanager
async def _in_time(call: call_context.Call, *, required: bool) -> AsyncIterator[None]:
    remaining = call.remaining()
    if remaining is None:
        if required:
            raise errors.InvalidInput(
                "this call needs a deadline: set a timeout on the client", reason="DEADLINE_REQUIRED"
            )
        yield
        return
    try:
        async with asyncio.timeout(
            max(0.0, remaining - min(_ANSWER_MARGIN_SECONDS, remaining * _ANSWER_MARGIN_SHARE))
        ):
            yield
    except TimeoutError:
        raise errors.DeadlineExceeded("the answer was not ready before the deadline") from None


@asynccontextmanager
async def until_draining(draining: asyncio.Event) -> AsyncIterator[None]:
    """Ends a stream that would otherwise keep the service from stopping; the caller comes back to another.

    Args:
        draining: set when the service is about to stop.

    Raises:
        Unavailable: NOT_READY, the service stops.
    """

    async def watch(scope: asyncio.Timeout) -> None:
        await draining.wait()
        scope.reschedule(asyncio.get_running_loop().time())

    try:
        async with asyncio.timeout(None) as scope:
            watcher = asyncio.create_task(watch(scope))
            try:
                yield
            finally:
                watcher.cancel()
    except TimeoutError:
        raise errors.Unavailable("the service is stopping; call again", reason="NOT_READY") from None
