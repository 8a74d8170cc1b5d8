"""The one exception tree of radref, raised by services and by the client alike.

Nothing here knows gRPC: `radref.service.status` maps these to google.rpc.Status and
`radref.client` maps a Status back. `reason` is a name of `radref.api.common.v1.ErrorReason`
without its `ERROR_REASON_` prefix.

    RadrefError
    ├── Unauthenticated     no token, or one that does not count here
    ├── PermissionDenied    the caller is known, but may not do this
    ├── InvalidInput        the caller must change the request
    ├── NotFound            an id that does not exist
    ├── PreconditionFailed  the state of a document, job or index does not allow it
    ├── Overloaded          come back after `retry_after` seconds
    ├── Unavailable         a service or store does not answer; trying again may help
    ├── DeadlineExceeded    the work did not fit into the deadline
    ├── Cancelled           the caller went away
    ├── Unimplemented       named in the API, not in this release
    └── Internal            a defect
"""

from __future__ import annotations

from collections.abc import Mapping


class RadrefError(Exception):
    """Base of all errors radref raises on purpose.

    Args:
        reason: name of an ErrorReason without prefix, e.g. "EMPTY_TEXT".
        message: for people; names what to do. Never holds query, passage or patient text.
        field: path of the offending request field, e.g. "query"; becomes a BadRequest violation.
        metadata: short machine-readable details, e.g. {"limit": "4000"}.
        retry_after: seconds after which trying again makes sense; None = not said.
    """

    default_reason = "INTERNAL"

    def __init__(
        self,
        message: str,
        *,
        reason: str | None = None,
        field: str = "",
        metadata: Mapping[str, str] | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.reason = reason or self.default_reason
        self.message = message
        self.field = field
        self.metadata = dict(metadata or {})
        self.retry_after = retry_after

    def __reduce__(self) -> tuple[object, ...]:
        # Parser processes send these through a pipe; keyword-only arguments need help to pickle.
        return (
            _rebuild,
            (type(self), self.message, self.reason, self.field, self.metadata, self.retry_after),
        )


def _rebuild(
    cls: type[RadrefError],
    message: str,
    reason: str,
    field: str,
    metadata: dict[str, str],
    retry_after: float | None,
) -> RadrefError:
    return cls(message, reason=reason, field=field, metadata=metadata, retry_after=retry_after)


class Unauthenticated(RadrefError):
    """No token, or one that does not count here; the caller needs a new one."""

    default_reason = "TOKEN_INVALID"


class PermissionDenied(RadrefError):
    """The caller is known, but may not do this; another token or certificate may."""

    default_reason = "ROLE_REQUIRED"


class InvalidInput(RadrefError):
    """The caller must change the request."""

    default_reason = "INVALID_FIELD"


class NotFound(RadrefError):
    """An id that does not exist."""

    default_reason = "UNKNOWN_DOCUMENT"


class PreconditionFailed(RadrefError):
    """The state of a document, job or index does not allow this."""

    default_reason = "INVALID_STATE"


class Overloaded(RadrefError):
    """The bounded queue is full; `retry_after` says when to come back."""

    default_reason = "OVERLOADED"


class Unavailable(RadrefError):
    """A service or store does not answer."""

    default_reason = "BACKEND_UNAVAILABLE"


class DeadlineExceeded(RadrefError):
    """The work did not fit into the deadline."""

    default_reason = "DEADLINE"


class Cancelled(RadrefError):
    """The caller went away."""

    default_reason = "CANCELLED"


class Unimplemented(RadrefError):
    """Named in the API, not in this release."""

    default_reason = "NOT_IN_THIS_RELEASE"


class Internal(RadrefError):
    """A defect; the request id leads to the log entry."""

    default_reason = "INTERNAL"
