"""What failures of a Qdrant server and of the way to it mean for callers."""

from __future__ import annotations

import grpc
import structlog
from qdrant_client.common.client_exceptions import ResourceExhaustedResponse

from radref.errors import Unavailable

log = structlog.get_logger()

_BACKEND = {"backend": "vector-store"}
_MESSAGES = {
    grpc.StatusCode.UNAVAILABLE: "the vector store does not answer",
    grpc.StatusCode.DEADLINE_EXCEEDED: "the vector store did not answer in time",
    grpc.StatusCode.RESOURCE_EXHAUSTED: "the vector store is overloaded",
    grpc.StatusCode.NOT_FOUND: "the vector store lacks a collection of the index; it may be damaged",
}
_MISCONFIGURED = {
    grpc.StatusCode.UNAUTHENTICATED: "the vector store refuses the API key",
    grpc.StatusCode.PERMISSION_DENIED: "the API key does not give the right to do this in the vector store",
    grpc.StatusCode.UNIMPLEMENTED: "what answers for the vector store is no Qdrant server, or too old",
}


class Misconfigured(Unavailable):
    """The server answers, and will go on refusing until somebody changes a setting."""


def unavailable(exc: Exception) -> Unavailable:
    """The error to raise for a failed call, which is logged here; its message never quotes the server."""
    code = exc.code() if isinstance(exc, grpc.aio.AioRpcError) else None
    log.error(
        "vector store failed",
        error=type(exc).__name__,
        code=code.name if code else "",
        detail=_detail(exc) if isinstance(exc, grpc.aio.AioRpcError) else "",
    )
    if isinstance(exc, ResourceExhaustedResponse):
        return Unavailable(
            _MESSAGES[grpc.StatusCode.RESOURCE_EXHAUSTED],
            metadata=_BACKEND,
            retry_after=float(exc.retry_after_s),
        )
    if isinstance(exc, TimeoutError):
        code = grpc.StatusCode.DEADLINE_EXCEEDED
    if code in _MISCONFIGURED:
        return Misconfigured(_MISCONFIGURED[code], metadata=_BACKEND)
    message = _MESSAGES.get(code, "the vector store failed; the log of the retrieval service says why")
    return Unavailable(message, metadata=_BACKEND)


def damaged() -> Unavailable:
    """The error for an answer that is not what was stored."""
    return Unavailable(
        "the vector store returned a record without its content; it may be damaged", metadata=_BACKEND
    )


def not_written() -> Unavailable:
    """The error for a write that the server took but did not carry out while it was waited for."""
    return Unavailable("the vector store did not finish a write in time", metadata=_BACKEND)


def _detail(exc: grpc.aio.AioRpcError) -> str:
    """The server's words about its own state; those about a request may quote what was sent."""
    text = exc.details() or ""
    own = exc.code() in _MESSAGES or text.startswith("Service ")
    return text[:300] if own else ""
