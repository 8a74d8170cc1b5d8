"""What happens around every served call, in one fixed order (outermost first):

request id and deadline -> span -> metrics and access log -> error mapping -> peer's certificate -> guard
(deadline rule, token and role, rate limit, admission) -> servicer.

Metrics stand outside of error mapping so that they see the status the caller gets; the guard stands inside
so that a refused call is mapped like any other error. Health answers without token, deadline and place, and
so does reflection, but with a token; both need the peer's certificate where one is asked for. Their streams
end when the service drains: whoever watches its health for ever must not keep it from stopping.
"""

from __future__ import annotations

import asyncio
import time
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import grpc
import structlog

from radref import errors
from radref.service import context as call_context
from radref.service import metrics
from radref.service.admission import Admission
from radref.service.exemplars import exemplar
from radref.service.guard import Guard, until_draining
from radref.service.handlers import Context, wrap_handler
from radref.service.status import STATUS_DETAILS_HEADER, code_of, to_status
from radref.service.tls.peers import AllowedPeers
from radref.service.tracing.spans import end_served, served_span

# Probes and reflection must answer without deadline and under any load.
_HEALTH_PREFIX = "/grpc.health.v1.Health/"
_REFLECTION_PREFIX = "/grpc.reflection."

log = structlog.get_logger()


def interceptors(
    admission: Admission, *, require_deadline: bool, long_lived: frozenset[str], draining: asyncio.Event
) -> Sequence[grpc.aio.ServerInterceptor]:
    """The interceptors of a server without access control. Arguments as in Guard."""
    return guarded(
        Guard(
            admission=admission, require_deadline=require_deadline, long_lived=long_lived, draining=draining
        )
    )


def guarded(guard: Guard, peers: AllowedPeers | None = None) -> Sequence[grpc.aio.ServerInterceptor]:
    """The interceptors of a radref server.

    Args:
        guard: who may call, how often, how many at once.
        peers: whose certificates count; None = the transport asks for none.
    """
    return (_Interceptor(guard, peers),)


class _Interceptor(grpc.aio.ServerInterceptor):
    """Puts everything around every method. One object, so that all of it knows whether the method exists."""

    def __init__(self, guard: Guard, peers: AllowedPeers | None) -> None:
        self._guard = guard
        self._peers = peers

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[grpc.RpcMethodHandler]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> grpc.RpcMethodHandler:
        method = handler_call_details.method
        handler = await continuation(handler_call_details)
        around = self._around
        if method.startswith((_HEALTH_PREFIX, _REFLECTION_PREFIX)) and handler is not None:
            around = self._around_exempt
        known = handler is not None
        return wrap_handler(
            handler if known else _unknown_method(method), lambda context: around(context, method, known)
        )

    @asynccontextmanager
    async def _around(self, context: Context, method: str, known: bool) -> AsyncIterator[None]:
        async with (
            _identified(context, method) as call,
            _measured(context, call, known),
            _mapped(context),
            self._guarded(context, call),
        ):
            yield

    @asynccontextmanager
    async def _around_exempt(self, context: Context, method: str, known: bool) -> AsyncIterator[None]:
        async with _identified(context, method), _mapped(context):
            if self._peers is not None:
                self._peers.check(context.auth_context())
            if method.startswith(_REFLECTION_PREFIX):
                await self._guard.check_reflection(_header(context, call_context.AUTHORIZATION_HEADER))
            async with until_draining(self._guard.draining):
                yield

    def _guarded(
        self, context: Context, call: call_context.Call
    ) -> AbstractAsyncContextManager[call_context.Call]:
        if self._peers is not None:
            self._peers.check(context.auth_context())
        return self._guard.admit(call, _header(context, call_context.AUTHORIZATION_HEADER))


def _header(context: Context, name: str) -> str | None:
    return _text_headers(context).get(name)


def _unknown_method(method: str) -> grpc.RpcMethodHandler:
    async def refuse(request: Any, context: Context) -> Any:
        raise errors.Unimplemented(f"there is no method {method}", reason="UNKNOWN_METHOD")

    return grpc.unary_unary_rpc_method_handler(refuse)


@asynccontextmanager
async def _identified(context: Context, method: str) -> AsyncIterator[call_context.Call]:
    remaining = context.time_remaining()
    call = call_context.Call(
        request_id=call_context.accepted_request_id(_header(context, call_context.REQUEST_ID_HEADER)),
        method=method,
        deadline=None if remaining is None else time.monotonic() + remaining,
    )
    call_context.set_current_call(call)
    with structlog.contextvars.bound_contextvars(request_id=call.request_id):
        context.set_trailing_metadata(((call_context.REQUEST_ID_HEADER, call.request_id),))
        yield call


@asynccontextmanager
async def _measured(context: Context, call: call_context.Call, known: bool) -> AsyncIterator[None]:
    # An unknown method's name comes from outside: it must not become a label.
    full_name = call.method.strip("/") if known else "unknown/unknown"
    service, _, name = full_name.rpartition("/")
    started = time.perf_counter()
    code = grpc.StatusCode.OK
    metrics.INFLIGHT.inc()
    with served_span(full_name, _text_headers(context), request_id=call.request_id) as span:
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
            end_served(span, code.name)
            observed = metrics.RPC_SECONDS.labels(service=service, method=name, code=code.name)
            observed.observe(elapsed, exemplar(call.request_id))
            log.info("served", method=name, code=code.name, milliseconds=round(elapsed * 1000, 1))


def _text_headers(context: Context) -> dict[str, str]:
    return {key: value for key, value in context.invocation_metadata() or () if isinstance(value, str)}


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
