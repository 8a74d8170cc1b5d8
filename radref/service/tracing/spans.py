"""Spans of served calls, of stages and of calls to neighbours, on the OpenTelemetry API alone.

Own code and not opentelemetry-instrumentation-grpc, which writes messages of exceptions and peers' addresses
into spans: a message could quote a question. A span here holds a method, a stage, a status and ids, and
nothing else. Without an SDK (see `export`) nothing is recorded, and the caller's trace context still travels
on. Baggage does not: what stands in it is a caller's own text.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import grpc
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Span, SpanKind, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

_W3C = TraceContextTextMapPropagator()
_tracer = trace.get_tracer("radref")

# What the service did wrong, not what the caller did (OpenTelemetry's conventions for gRPC servers).
_SERVER_FAULTS = frozenset(
    ("UNKNOWN", "DEADLINE_EXCEEDED", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS")
)


@contextmanager
def served_span(name: str, headers: Mapping[str, str], *, request_id: str) -> Iterator[Span]:
    """The span of a call being served; its parent is the one that the headers name.

    Args:
        name: of a bounded set, e.g. "radref.api.gateway.v1.GatewayService/Search".
        headers: the call's, names in lower case.
        request_id: the call's.
    """
    # An empty context: what runs in this task besides is no parent.
    parent = _W3C.extract(headers, context=Context())
    attributes = {"radref.request_id": request_id}
    span = _tracer.start_span(name, context=parent, kind=SpanKind.SERVER, attributes=attributes)
    with _current(span):
        yield span


def end_served(span: Span, code: str) -> None:
    """Notes the outcome. `code`: name of a gRPC status code, also for REST."""
    span.set_attribute("rpc.response.status_code", code)
    if code in _SERVER_FAULTS:
        span.set_status(StatusCode.ERROR)


@contextmanager
def stage_span(stage: str) -> Iterator[None]:
    """The span of a stage of a call being served; nothing outside of a recorded one."""
    if not trace.get_current_span().is_recording():
        yield
        return
    with _current(_tracer.start_span(stage), failures=True):
        yield


@contextmanager
def background_span(name: str, **ids: str) -> Iterator[None]:
    """The span of work that no call waits for, e.g. a step of a job.

    Args:
        name: of a bounded set.
        ids: attributes; ids and counts only, never text.
    """
    attributes = {f"radref.{key}": value for key, value in ids.items()}
    with _current(_tracer.start_span(name, context=Context(), attributes=attributes), failures=True):
        yield


def start_neighbour_span(method: str) -> Span | None:
    """The span of a call to a neighbour, to be ended by `follow`; None where nothing is recorded.

    Args:
        method: full name, "/package.Service/Method".
    """
    if not trace.get_current_span().is_recording():
        return None
    return _tracer.start_span(method.strip("/"), kind=SpanKind.CLIENT)


def follow(span: Span, call: grpc.aio.Call) -> asyncio.Task[None]:
    """Ends the span when the call has ended. The caller keeps the task until then."""
    return asyncio.get_running_loop().create_task(_end_with(span, call))


async def _end_with(span: Span, call: grpc.aio.Call) -> None:
    try:
        code = await call.code()
        span.set_attribute("rpc.response.status_code", code.name)
        if code is not grpc.StatusCode.OK:
            span.set_status(StatusCode.ERROR)
    finally:
        span.end()


def trace_headers(span: Span | None = None) -> dict[str, str]:
    """traceparent and tracestate for a call to somebody else; empty where there is no trace.

    Args:
        span: the parent to name; None = the current one.
    """
    headers: dict[str, str] = {}
    _W3C.inject(headers, context=None if span is None else trace.set_span_in_context(span))
    return headers


def current_trace_id() -> str | None:
    """32 hex digits; None outside of a trace."""
    context = trace.get_current_span().get_span_context()
    return trace.format_trace_id(context.trace_id) if context.is_valid else None


def sampled_trace_id() -> str | None:
    """As `current_trace_id`, but None for a trace that nobody keeps."""
    context = trace.get_current_span().get_span_context()
    return current_trace_id() if context.trace_flags.sampled else None


@contextmanager
def _current(span: Span, *, failures: bool = False) -> Iterator[None]:
    with trace.use_span(span, end_on_exit=True, record_exception=False, set_status_on_exception=False):
        try:
            yield
        except Exception:
            if failures:
                span.set_status(StatusCode.ERROR)
            raise
