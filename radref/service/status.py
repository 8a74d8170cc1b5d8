"""The one place where errors become google.rpc.Status and back."""

from __future__ import annotations

import grpc
from google.protobuf.any_pb2 import Any
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import DecodeError
from google.rpc import error_details_pb2, status_pb2

from radref import errors

DOMAIN = "radref"
STATUS_DETAILS_HEADER = "grpc-status-details-bin"

_CODES: dict[type[errors.RadrefError], grpc.StatusCode] = {
    errors.Unauthenticated: grpc.StatusCode.UNAUTHENTICATED,
    errors.PermissionDenied: grpc.StatusCode.PERMISSION_DENIED,
    errors.InvalidInput: grpc.StatusCode.INVALID_ARGUMENT,
    errors.NotFound: grpc.StatusCode.NOT_FOUND,
    errors.PreconditionFailed: grpc.StatusCode.FAILED_PRECONDITION,
    errors.Overloaded: grpc.StatusCode.RESOURCE_EXHAUSTED,
    errors.Unavailable: grpc.StatusCode.UNAVAILABLE,
    errors.DeadlineExceeded: grpc.StatusCode.DEADLINE_EXCEEDED,
    errors.Cancelled: grpc.StatusCode.CANCELLED,
    errors.Unimplemented: grpc.StatusCode.UNIMPLEMENTED,
    errors.Internal: grpc.StatusCode.INTERNAL,
}
_CLASSES = {code: cls for cls, code in _CODES.items()}
# What a bare status of the transport means, by code; others are defects.
_TRANSPORT_REASONS = {
    grpc.StatusCode.UNIMPLEMENTED: "UNKNOWN_METHOD",
    grpc.StatusCode.DEADLINE_EXCEEDED: "DEADLINE",
    grpc.StatusCode.CANCELLED: "CANCELLED",
    grpc.StatusCode.RESOURCE_EXHAUSTED: "TEXT_TOO_LONG",
}


def code_of(error: errors.RadrefError) -> grpc.StatusCode:
    for cls in type(error).__mro__:
        if cls in _CODES:
            return _CODES[cls]
    return grpc.StatusCode.INTERNAL


def to_status(error: errors.RadrefError, request_id: str) -> status_pb2.Status:
    """Status with ErrorInfo always, BadRequest where a field is named, RetryInfo where a delay is."""
    metadata = {**error.metadata, "request_id": request_id}
    info = error_details_pb2.ErrorInfo(reason=error.reason, domain=DOMAIN, metadata=metadata)
    details = [_packed(info)]
    if error.field:
        violation = error_details_pb2.BadRequest.FieldViolation(
            field=error.field, description=error.message, reason=error.reason
        )
        details.append(_packed(error_details_pb2.BadRequest(field_violations=[violation])))
    if error.retry_after is not None:
        delay = Duration()
        delay.FromMilliseconds(int(error.retry_after * 1000))
        details.append(_packed(error_details_pb2.RetryInfo(retry_delay=delay)))
    return status_pb2.Status(code=code_of(error).value[0], message=error.message, details=details)


def error_from_rpc(exc: grpc.aio.AioRpcError, *, backend: str) -> errors.RadrefError:
    """The RadrefError behind a failed call.

    Args:
        exc: what the call raised.
        backend: name of the called service, for the message when the transport itself failed.
    """
    status = _status_of(exc)
    if status is not None:
        error = _from_details(exc.code(), status)
        if error is not None:
            return error
    code = exc.code()
    if code in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.UNKNOWN):
        return errors.Unavailable(f"the {backend} service does not answer", metadata={"backend": backend})
    if code == grpc.StatusCode.DEADLINE_EXCEEDED:
        return errors.DeadlineExceeded(
            f"the {backend} service did not answer in time", metadata={"backend": backend}
        )
    cls = _CLASSES.get(code, errors.Internal)
    return cls(
        exc.details() or f"the {backend} service failed",
        reason=_TRANSPORT_REASONS.get(code, "INTERNAL"),
        metadata={"backend": backend},
    )


def _status_of(exc: grpc.aio.AioRpcError) -> status_pb2.Status | None:
    for key, value in exc.trailing_metadata() or ():
        if key == STATUS_DETAILS_HEADER and isinstance(value, bytes):
            try:
                return status_pb2.Status.FromString(value)
            except DecodeError:
                return None
    return None


def _from_details(code: grpc.StatusCode, status: status_pb2.Status) -> errors.RadrefError | None:
    info = error_details_pb2.ErrorInfo()
    bad_request = error_details_pb2.BadRequest()
    retry = error_details_pb2.RetryInfo()
    found = False
    retry_after: float | None = None
    field = ""
    for detail in status.details:
        if detail.Unpack(info):
            found = info.domain == DOMAIN
        elif detail.Unpack(bad_request) and bad_request.field_violations:
            field = bad_request.field_violations[0].field
        elif detail.Unpack(retry):
            retry_after = retry.retry_delay.ToMilliseconds() / 1000
    if not found:
        return None
    cls = _CLASSES.get(code, errors.Internal)
    return cls(
        status.message, reason=info.reason, field=field, metadata=dict(info.metadata), retry_after=retry_after
    )


def _packed(
    message: error_details_pb2.ErrorInfo | error_details_pb2.BadRequest | error_details_pb2.RetryInfo,
) -> Any:
    packed = Any()
    packed.Pack(message)
    return packed
