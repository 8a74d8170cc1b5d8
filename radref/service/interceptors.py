"""What happens around every served call, in one fixed order (outermost first):

request id and deadline -> metrics and access log -> error mapping -> deadline rule -> token, role and rate ->
admission -> servicer.

Metrics stand outside of error mapping so that they see the status the caller gets; refusals stand inside so
that they are mapped like any other error.
"""

from __future__ import annotations

import asyncio
import time
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import grpc
import structlog

from radref import errors
from radref.service import context as call_context
from radref.service import metrics
from radref.service.guard import Guard, due
from radref.service.handlers import Around, Context, wrap_handler
from radref.service.status import STATUS_DETAILS_HEADER, code_of, to_status

# Probes and reflection must answer without deadline and under any load.
_HEALTH_PREFIX = "/grpc.health.v1.Health/"
_EXEMPT_PREFIXES = (_HEALTH_PREFIX, "/grpc.reflection.")

log = structlog.get_logger()


def interceptors(
    guard: Guard, *, require_deadline: bool, long_lived: frozenset[str], draining: asyncio.Event
) -> Sequence[grpc.aio.ServerInterceptor]:
    """The interceptors of a radref server, in their fixed order.

    Args:
        guard: who is let in, and how many at once.
        require_deadline: refuse calls without a deadline.
        long_lived: full names of methods that stream for minutes; they need no deadline, take no
            admission place and are ended when the service drains.
        draining: set when the service is about to stop.
    """
    return (
        _Interceptor(lambda method: lambda ctx: _identified(ctx, method)),
        _Interceptor(lambda method: lambda ctx: _measured(ctx, method), exempt=_EXEMPT_PREFIXES),
        # Health never fails; what reflection is refused is mapped too.
        _Interceptor(lambda method: _mapped, exempt=(_HEALTH_PREFIX,)),
        _Interceptor(
            lambda method: lambda ctx: _timed(ctx, require_deadline and method not in long_lived),
            exempt=_EXEMPT_PREFIXES,
        ),
        _Interceptor(lambda method: lambda ctx: _let_in(ctx, guard, method), exempt=(_HEALTH_PREFIX,)),
        _Interceptor(
            lambda method: (
                lambda ctx: _until_draining(draining) if method in long_lived else guard.admission.place()
            ),
            exempt=_EXEMPT_PREFIXES,
        ),
    )


class _Interceptor(grpc.aio.ServerInterceptor):
    """Puts one context manager around every method without one of the `exempt` prefixes."""

    def __init__(self, around_of: Callable[[str], Around], *, exempt: tuple[str, ...] = ()) -> None:
        self._around_of = around_of
        self._exempt = exempt

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[grpc.RpcMethodHandler]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> grpc.RpcMethodHandler:
        method = handler_call_details.method
        handler = await continuation(handler_call_details)
        if self._exempt and method.startswith(self._exempt):
            return handler
        if handler is None:
            handler = _unknown_method(method)
        return wrap_handler(handler, self._around_of(method))


def _unknown_method(method: str) -> grpc.RpcMethodHandler:
    async def refuse(request: Any, context: Context) -> Any:
        raise errors.Unimplemented(f"there is no method {method}", reason="UNKNOWN_METHOD")

    return grpc.unary_unary_rpc_method_handler(refuse)


@asynccontextmanager
async def _identified(context: Context, method: str) -> AsyncIterator[None]:
    supplied = dict(context.invocation_metadata() or ()).get(call_context.REQUEST_ID_HEADER)
    remaining = context.time_remaining()
    call = call_context.Call(
        request_id=call_context.accepted_request_id(supplied if isinstance(supplied, str) else None),
        method=method,
        deadline=None if remaining is None else time.monotonic() + remaining,
    )
    call_context.set_current_call(call)
    with structlog.contextvars.bound_contextvars(request_id=call.request_id):
        context.set_trailing_metadata(((call_context.REQUEST_ID_HEADER, call.request_id),))
        yield


@asynccontextmanager
async def _measured(context: Context, method: str) -> AsyncIterator[None]:
    service, _, name = method.strip("/").rpartition("/")
    started = time.perf_counter()
    code = grpc.StatusCode.OK
    metrics.INFLIGHT.inc()
    try:
        yield
    except asyncio.CancelledError:
        code = grpc.StatusCode.CANCELLED
        raise
    except BaseException:
        code = _code(context) or grpc.StatusCode.UNKNOWN
        raise
    finally:
        elapsed = time.perf_counter() - started
        metrics.INFLIGHT.dec()
        # An unknown method's name comes from outside: it must not become a label.
        known = code != grpc.StatusCode.UNIMPLEMENTED
        metrics.RPC_SECONDS.labels(
            service=service if known else "unknown", method=name if known else "unknown", code=code.name
        ).observe(elapsed)
        log.info("served", method=name, code=code.name, milliseconds=round(elapsed * 1000, 1))


def _code(context: Context) -> grpc.StatusCode | None:
    code = context.code()
    if isinstance(code, int):
        return next((known for known in grpc.StatusCode if known.value[0] == code), None)
    return code


@asynccontextmanager
async def _mapped(context: Context) -> AsyncIterator[None]:
    try:
        yield
    except errors.RadrefError as exc:
        await _abort(context, exc)
    except (asyncio.CancelledError, grpc.aio.AbortError):
        raise
    except Exception as exc:  # noqa: BLE001 - the boundary: whatever it is, the caller gets a reason
        # Frames only: the text of a foreign exception may quote a document or a question.
        log.error("defect", error=type(exc).__name__, frames=traceback.format_tb(exc.__traceback__))
        await _abort(context, errors.Internal("internal error; the request id leads to the log entry"))


async def _abort(context: Context, error: errors.RadrefError) -> None:
    call = call_context.current_call()
    request_id = call.request_id if call else ""
    status = to_status(error, request_id)
    await context.abort(
        code_of(error),
        error.message,
        (
            (STATUS_DETAILS_HEADER, status.SerializeToString()),
            (call_context.REQUEST_ID_HEADER, request_id),
        ),
    )


@asynccontextmanager
async def _timed(context: Context, required: bool) -> AsyncIterator[None]:
    call = call_context.current_call()
    remaining = call.remaining() if call else None
    if remaining is None:
        if required:
            raise errors.InvalidInput(
                "this call needs a deadline: set a timeout on the client", reason="DEADLINE_REQUIRED"
            )
        yield
        return
    async with due(remaining):
        yield


@asynccontextmanager
async def _let_in(context: Context, guard: Guard, method: str) -> AsyncIterator[None]:
    authorization = dict(context.invocation_metadata() or ()).get("authorization")
    await guard.let_in(method, authorization if isinstance(authorization, str) else None)
    yield


@asynccontextmanager
async def _until_draining(draining: asyncio.Event) -> AsyncIterator[None]:
    """Ends a stream that would otherwise keep the service from stopping; the caller comes back to another."""

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
