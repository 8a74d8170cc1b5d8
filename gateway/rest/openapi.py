"""The OpenAPI description: what FastAPI cannot read from the routes is added here."""

from __future__ import annotations

from copy import deepcopy
from typing import Any, Final, Literal

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from gateway.rest import events
from gateway.rest.limits import DEFAULT_TIMEOUT_SECONDS, TIMEOUT_PATTERN, SiteLimits
from gateway.rest.models import answers
from gateway.rest.problems import MEDIA_TYPE, Problem
from radref import __version__

_DESCRIPTION: Final = """\
Questions in, cited and checked answers out: the same as the gRPC API `radref.api.gateway.v1`, as JSON.

Errors are problem details (RFC 9457) with the reasons of `radref.api.common.v1.ErrorReason`. Later releases
may add fields to responses and values to enumerations; requests with unknown fields are refused.
"""

# Problems every operation may answer with.
_PROBLEMS: Final = {
    400: "The request must be changed; `reason` and `field` say how.",
    401: "No valid token.",
    403: "The token's roles do not allow this.",
    404: "There is no such thing.",
    408: "The body did not arrive in time.",
    409: "The state of the installation does not allow this, e.g. a gate fitted for another model.",
    413: "The body is longer than 64 KiB.",
    429: "Too many requests; `Retry-After` says when to come back.",
    499: "Cancelled.",
    500: "A defect; the request id leads to the log entry.",
    501: "Named in the API, not in this release.",
    503: "A service this one needs does not answer; trying again may help.",
    504: "The answer was not ready before the deadline.",
}
_WITH_BODY: Final = {415: "The body is not application/json."}

_REQUEST_ID: Final = {
    "name": "X-Request-Id",
    "in": "header",
    "required": False,
    "description": "Id of the request, 1-64 of A-Z a-z 0-9 . _ -; any other value is replaced by a new id.",
    "schema": {"type": "string"},
}
_REQUEST_ID_SENT: Final = {
    "X-Request-Id": {"description": "Id of the request, as in logs and audit.", "schema": {"type": "string"}}
}
_RETRY_AFTER: Final = {
    "Retry-After": {
        "description": "Seconds after which to come back.",
        "schema": {"type": "integer", "minimum": 0},
    }
}
_CHALLENGE: Final = {"WWW-Authenticate": {"description": "Bearer.", "schema": {"type": "string"}}}

_REF: Final = "#/components/schemas/{model}"
_EVENTS: Final[dict[str, type[BaseModel]]] = {
    "sources": answers.StreamSources,
    "statement": answers.Statement,
    "end": answers.StreamEnd,
    "error": Problem,
}


def describe(app: FastAPI, limits: SiteLimits) -> dict[str, Any]:
    """The OpenAPI 3.1 description of the routes.

    Args:
        app: the application with the routes.
        limits: of the site.
    """
    if app.openapi_schema is None:
        described = deepcopy(
            get_openapi(title="radref", version=__version__, description=_DESCRIPTION, routes=app.routes)
        )
        _add_schemas(described["components"], limits)
        for path in described["paths"].values():
            for operation in path.values():
                _complete(operation, limits.max_timeout)
        app.openapi_schema = described
    return app.openapi_schema


def _add_schemas(components: dict[str, Any], limits: SiteLimits) -> None:
    schemas = components["schemas"]
    # FastAPI's form of validation errors, which are problems here.
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    wanted: list[tuple[Any, Literal["serialization"]]] = [
        (model, "serialization") for model in _EVENTS.values()
    ]
    _, streamed = models_json_schema(wanted, ref_template=_REF)
    schemas.update(streamed["$defs"])
    for schema in schemas.values():
        question = schema["properties"].get("query", {})
        if "pattern" in question:
            question["maxLength"] = limits.max_query_characters
        if model := schema["properties"].get("model"):
            model["enum"] = ["", *limits.models]
    components["schemas"] = dict(sorted(schemas.items()))
    components["securitySchemes"] = {
        "bearer": {
            "type": "http",
            "scheme": "bearer",
            "description": "Token of the site's identity provider, where access control is on.",
        }
    }


def _complete(operation: dict[str, Any], max_timeout: int) -> None:
    operation.setdefault("parameters", []).extend([_REQUEST_ID, _timeout_parameter(max_timeout)])
    operation["security"] = [{"bearer": []}, {}]
    responses = operation["responses"]
    responses.pop("422", None)
    if "200" in responses:
        responses["200"]["headers"] = dict(_REQUEST_ID_SENT)
        responses["200"]["description"] = "As asked."
    problems = {**_PROBLEMS, **(_WITH_BODY if "requestBody" in operation else {})}
    for status, description in sorted(problems.items()):
        responses[str(status)] = _problem(status, description)
    if operation["operationId"] == "StreamGenerate":
        responses["200"]["content"] = {events.MEDIA_TYPE: _stream()}


def _timeout_parameter(max_timeout: int) -> dict[str, Any]:
    default = min(DEFAULT_TIMEOUT_SECONDS, max_timeout)
    return {
        "name": "Request-Timeout",
        "in": "header",
        "required": False,
        "description": f"Deadline of the request, whole seconds from 1; absent = {default}. "
        f"More than this site's {max_timeout} means {max_timeout}.",
        "schema": {"type": "string", "pattern": TIMEOUT_PATTERN},
        "example": str(default),
    }


def _problem(status: int, description: str) -> dict[str, Any]:
    headers: dict[str, Any] = dict(_REQUEST_ID_SENT)
    if status in (429, 503):
        headers |= _RETRY_AFTER
    if status == 401:
        headers |= _CHALLENGE
    schema = {"$ref": _REF.format(model="Problem")}
    return {"description": description, "headers": headers, "content": {MEDIA_TYPE: {"schema": schema}}}


def _stream() -> dict[str, Any]:
    return {
        # Before OpenAPI 3.2 the schema of a stream describes each of its events.
        "schema": {
            "type": "object",
            "description": "Events `sources`, `statement` (any number) and `end`; `error` instead of what "
            "could not be sent. Lines that begin with a colon keep the connection open.",
            "oneOf": [_event(name, model) for name, model in _EVENTS.items()],
        }
    }


def _event(name: str, model: type[BaseModel]) -> dict[str, Any]:
    data = {
        "type": "string",
        "contentMediaType": "application/json",
        "contentSchema": {"$ref": _REF.format(model=model.__name__)},
    }
    return {
        "type": "object",
        "properties": {"event": {"const": name}, "data": data},
        "required": ["event", "data"],
    }
