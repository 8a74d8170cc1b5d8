"""Errors as problem details (RFC 9457) with the reasons that gRPC sends; the place of HTTP statuses."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import grpc
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response
from starlette.types import Scope

from radref.errors import InvalidInput, RadrefError
from radref.service.status import code_of

MEDIA_TYPE: Final = "application/problem+json"

# As the HTTP mapping in google/rpc/code.proto, except that a failed precondition is a conflict with a state.
_STATUSES: Final = {
    grpc.StatusCode.INVALID_ARGUMENT: 400,
    grpc.StatusCode.UNAUTHENTICATED: 401,
    grpc.StatusCode.PERMISSION_DENIED: 403,
    grpc.StatusCode.NOT_FOUND: 404,
    grpc.StatusCode.FAILED_PRECONDITION: 409,
    grpc.StatusCode.RESOURCE_EXHAUSTED: 429,
    grpc.StatusCode.CANCELLED: 499,
    grpc.StatusCode.INTERNAL: 500,
    grpc.StatusCode.UNIMPLEMENTED: 501,
    grpc.StatusCode.UNAVAILABLE: 503,
    grpc.StatusCode.DEADLINE_EXCEEDED: 504,
}


class Problem(BaseModel):
    """Why a request failed."""

    model_config = ConfigDict(frozen=True)

    type: str = Field(description="urn:radref:error:REASON.", examples=["urn:radref:error:TEXT_TOO_LONG"])
    title: str = Field(description="The reason as words.", examples=["Text too long"])
    status: int = Field(ge=400, le=599, description="HTTP status.", examples=[400])
    detail: str = Field(description="For people: what to do. Never holds text of the question.")
    instance: str = Field(description="urn:radref:request:ID, the id as in X-Request-Id, logs and audit.")
    reason: str = Field(
        description="A radref.api.common.v1.ErrorReason without its prefix; later releases may add some.",
        examples=["TEXT_TOO_LONG"],
    )
    field: str = Field(description='Path of the offending field; "" where none is.', examples=["query"])
    metadata: dict[str, str] = Field(
        description="Short machine-readable details.", examples=[{"limit": "4000"}]
    )
    retry_after: float | None = Field(
        ge=0, description="Seconds after which trying again makes sense; null = not said."
    )


def problem_of(error: RadrefError, scope: Scope, status: int | None = None) -> Problem:
    """The problem of an error of the request in `scope`, whose code is noted there for metrics and log.

    Args:
        error: what happened.
        scope: the request's, with its id in the state.
        status: HTTP status, where the error's code does not say it.
    """
    code = code_of(error)
    scope["state"]["code"] = code.name
    return Problem(
        type=f"urn:radref:error:{error.reason}",
        title=error.reason.replace("_", " ").capitalize(),
        status=status or _STATUSES.get(code, 500),
        detail=error.message,
        instance=f"urn:radref:request:{scope['state']['request_id']}",
        reason=error.reason,
        field=error.field,
        metadata=error.metadata,
        retry_after=error.retry_after,
    )


def problem_response(
    error: RadrefError,
    scope: Scope,
    status: int | None = None,
    headers: dict[str, str] | None = None,
) -> Response:
    """The problem as a response. Arguments as in `problem_of`; `headers` are added."""
    problem = problem_of(error, scope, status)
    added = dict(headers or {})
    if problem.retry_after is not None:
        added["Retry-After"] = str(math.ceil(problem.retry_after))
    if problem.status == 401:
        added["WWW-Authenticate"] = "Bearer"
    return Response(problem.model_dump_json(), problem.status, added, MEDIA_TYPE)


# Reasons of what pydantic finds; everything else is INVALID_FIELD.
_REASONS: Final = {
    "string_too_short": "EMPTY_TEXT",
    "string_too_long": "TEXT_TOO_LONG",
    "too_long": "OUT_OF_RANGE",
    "greater_than_equal": "OUT_OF_RANGE",
    "less_than_equal": "OUT_OF_RANGE",
}


def invalid_request(faults: Sequence[Any]) -> InvalidInput:
    """The first fault of a request, as pydantic lists them. Input is not repeated: it may be patient text."""
    fault = faults[0]
    location = fault["loc"]
    field = ".".join(str(part) for part in location[1:])
    if fault["type"] == "json_invalid":
        return InvalidInput(f"the body is not JSON at character {location[-1]}")
    if not field and location[0] == "body":
        message = "the body is missing" if fault["type"] == "missing" else "the body is not a JSON object"
        return InvalidInput(message)
    if fault["type"] == "extra_forbidden":
        # The name comes from outside; it is repeated in `field` only.
        in_filters = field.startswith("filters.")
        reason = "UNKNOWN_FILTER" if in_filters else "INVALID_FIELD"
        return InvalidInput(
            "the request holds a field that this release does not know", reason=reason, field=field
        )
    return InvalidInput(_message(fault), reason=_REASONS.get(fault["type"]), field=field)


def _message(fault: Any) -> str:
    message = str(fault["msg"])
    return message[:1].lower() + message[1:]
