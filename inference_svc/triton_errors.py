"""What a failed call of a Triton server means.

Texts and codes were observed with Triton 2.51 and its python backend. Triton's own texts are never passed
on: those of an exception inside a model may quote what was embedded.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import grpc

from inference_svc.places import RETRY_AFTER_SECONDS
from radref.errors import DeadlineExceeded, Internal, InvalidInput, Overloaded, RadrefError, Unavailable

# The models of this repository answer "[REASON] message"; Triton may put the id of the request before it.
_REASONED = re.compile(r"(?:\[request id: [^\]]*\] )?\[([A-Z_]+)\] ([^\n]+)")
_CALLERS_FAULT = frozenset({"EMPTY_TEXT", "INVALID_SPAN", "TEXT_TOO_LONG"})
# CANCELLED reaches somebody who still waits only when the server itself gave the request up.
_OUTAGES = frozenset({"BACKEND_UNAVAILABLE", "CANCELLED"})
_MAX_MESSAGE_CHARACTERS = 200
# A full queue, and a request that outlived the time its queue allows: both are shed load.
_SHED = re.compile(r"exceeds maximum queue size|request timeout expired", re.IGNORECASE)
_NOT_SERVED = re.compile(r"unknown model|has no available versions", re.IGNORECASE)
# The process of a python-backend model died; Triton says INTERNAL, but it is an outage.
_PROCESS_DIED = re.compile(r"stub process .*(not healthy|unhealthy)", re.IGNORECASE)
_TOO_LARGE = re.compile(r"message larger than max", re.IGNORECASE)


def error_of_call(
    exc: grpc.aio.AioRpcError, *, backend: str, model: str, fields: Mapping[str, str]
) -> RadrefError:
    """The error a caller gets.

    Args:
        exc: what the call raised.
        backend: names it, e.g. "embedding".
        model: what was asked for.
        fields: request field by reason, for errors that are the caller's fault.
    """
    details = exc.details() or ""
    code = exc.code()
    reasoned = _REASONED.match(details)
    metadata = {"backend": backend}
    if reasoned is not None:
        reason, message = reasoned[1], reasoned[2][:_MAX_MESSAGE_CHARACTERS]
        if reason in _CALLERS_FAULT:
            return InvalidInput(message, reason=reason, field=fields.get(reason, ""))
        if reason in _OUTAGES:
            return Unavailable(f"the {backend} backend cannot answer: {message}", metadata=metadata)
        return Internal(f"the {backend} backend failed: {message}", metadata=metadata)
    if _PROCESS_DIED.search(details):
        return Unavailable(f"the process of {model} behind the {backend} backend died", metadata=metadata)
    known = _BY_CODE.get(code)
    if known is not None:
        return known(backend, model, details)
    return Internal(f"the {backend} backend failed at this request ({code.name})", metadata=metadata)


def not_in_time(backend: str) -> DeadlineExceeded:
    """The error when time is up, whoever notices first."""
    return DeadlineExceeded(f"the {backend} backend did not answer in time", metadata={"backend": backend})


def _down(backend: str, model: str, details: str) -> RadrefError:
    metadata = {"backend": backend}
    if _SHED.search(details):
        return Overloaded(
            f"too many requests wait for the {backend} backend, try again shortly",
            metadata=metadata,
            retry_after=RETRY_AFTER_SECONDS,
        )
    if _NOT_SERVED.search(details):
        return Unavailable(f"the {backend} backend does not serve {model} (now)", metadata=metadata)
    return Unavailable(f"the {backend} backend does not answer", metadata=metadata)


def _exhausted(backend: str, model: str, details: str) -> RadrefError:
    if _TOO_LARGE.search(details):
        return Internal(
            f"the {backend} backend answered more than a message may hold", metadata={"backend": backend}
        )
    # Triton has no such answer; a proxy before it that limits rates has.
    return Overloaded(
        f"the {backend} backend is busy, try again shortly",
        metadata={"backend": backend},
        retry_after=RETRY_AFTER_SECONDS,
    )


def _misunderstood(backend: str, model: str, details: str) -> RadrefError:
    return Internal(
        f"the {backend} backend refuses the request: its {model} is not the one of this release",
        metadata={"backend": backend},
    )


def _no_triton(backend: str, model: str, details: str) -> RadrefError:
    return Unavailable(
        f"the target of the {backend} backend is no Triton server, or refuses this service",
        metadata={"backend": backend},
    )


def _late(backend: str, model: str, details: str) -> RadrefError:
    return not_in_time(backend)


_BY_CODE: Mapping[grpc.StatusCode, Callable[[str, str, str], RadrefError]] = {
    grpc.StatusCode.UNAVAILABLE: _down,
    grpc.StatusCode.NOT_FOUND: _down,
    # A server that gave the request up by itself; when our caller did, no error is made at all.
    grpc.StatusCode.CANCELLED: _down,
    # Connections that break in odd ways.
    grpc.StatusCode.UNKNOWN: _down,
    grpc.StatusCode.DEADLINE_EXCEEDED: _late,
    grpc.StatusCode.RESOURCE_EXHAUSTED: _exhausted,
    grpc.StatusCode.INVALID_ARGUMENT: _misunderstood,
    grpc.StatusCode.UNIMPLEMENTED: _no_triton,
    grpc.StatusCode.UNAUTHENTICATED: _no_triton,
    grpc.StatusCode.PERMISSION_DENIED: _no_triton,
}
