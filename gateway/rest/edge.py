"""What happens around every HTTP request, in one fixed order (outermost first):

request id -> span, metrics and access log -> error mapping -> body -> caller gone -> guard -> routes.

The guard stands before FastAPI, so that who may not call learns nothing of what is wrong with a body, and its
deadline covers the response too: a stream that runs past it ends with an error event.
"""

from __future__ import annotations

import asyncio
import re
import time
import traceback
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Final

import grpc
import structlog
from starlette.datastructures import Headers
from starlette.routing import BaseRoute, Match, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from gateway.rest.body import HttpError, check_json, read_body, replayed
from gateway.rest.limits import DEFAULT_TIMEOUT_SECONDS, TIMEOUT_PATTERN
from gateway.rest.ports import Guard
from gateway.rest.reply import Reply
from radref.api.gateway.v1 import gateway_pb2
from radref.errors import Cancelled, Internal, InvalidInput, RadrefError, Unavailable
from radref.service import metrics
from radref.service.context import REQUEST_ID_HEADER, accepted_request_id
from radref.service.exemplars import exemplar
from radref.service.tracing.spans import end_served, served_span

TIMEOUT_HEADER: Final = "request-timeout"
_SECONDS: Final = re.compile(TIMEOUT_PATTERN)
_SERVICE: Final = gateway_pb2.DESCRIPTOR.services_by_name["GatewayService"]

log = structlog.get_logger()


class Edge:
    """An ASGI application around the routes.

    Args:
        app: the application with the routes.
        routes: its routes; one that is named as an RPC of GatewayService is guarded as that RPC.
        guard: see `Guard`.
        max_timeout: longest deadline, seconds; a longer Request-Timeout is shortened to it.
    """

    def __init__(self, app: ASGIApp, routes: Sequence[BaseRoute], guard: Guard, max_timeout: int) -> None:
        self._app = app
        self._routes = [
            route for route in routes if isinstance(route, Route) and route.name in _SERVICE.methods_by_name
        ]
        self._guard = guard
        self._max_timeout = max_timeout

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        request_id = accepted_request_id(headers.get(REQUEST_ID_HEADER))
        scope.setdefault("state", {}).update(request_id=request_id, code=grpc.StatusCode.OK.name)
        reply = Reply(scope, send)
        if scope["method"] == "HEAD":
            scope = {**scope, "method": "GET"}
        method = self._method_of(scope)
        with (
            structlog.contextvars.bound_contextvars(request_id=request_id),
            _measured(scope, method or "unknown", headers),
        ):
            try:
                await self._serve(scope, receive, reply, method, headers)
            except RadrefError as exc:
                await reply.fail(exc, None, receive)
            except HttpError as exc:
                await reply.fail(exc.error, exc.status, receive)
            except asyncio.CancelledError:
                # Who leaves is Cancelled by then: this is the server, whose grace is over.
                await reply.fail(_stopping(), None, receive)
            except Exception as exc:  # noqa: BLE001 - the boundary: whatever it is, the caller gets a reason
                # Frames only: the text of a foreign exception may quote a document or a question.
                log.error("defect", error=type(exc).__name__, frames=traceback.format_tb(exc.__traceback__))
                await reply.fail(_defect(), None, receive)

    async def _serve(
        self, scope: Scope, receive: Receive, reply: Reply, method: str, headers: Headers
    ) -> None:
        if not method:
            await self._app(scope, receive, reply.send)
            return
        if scope["method"] == "POST":
            check_json(headers)
        body = await read_body(headers, receive)
        timeout = self._timeout(headers.get(TIMEOUT_HEADER))
        async with (
            _while_connected(receive, reply),
            self._guard.around(
                method=f"/{_SERVICE.full_name}/{method}",
                authorization=headers.get("authorization"),
                request_id=scope["state"]["request_id"],
                timeout=timeout,
            ),
        ):
            await self._app(scope, replayed(body), reply.send)

    def _method_of(self, scope: Scope) -> str:
        for route in self._routes:
            if route.matches(scope)[0] is Match.FULL:
                return route.name
        return ""

    def _timeout(self, value: str | None) -> float:
        if value is not None and not _SECONDS.fullmatch(value):
            raise InvalidInput(
                "Request-Timeout is whole seconds, at least 1", reason="OUT_OF_RANGE", field=TIMEOUT_HEADER
            )
        return min(DEFAULT_TIMEOUT_SECONDS if value is None else int(value), self._max_timeout)


def _stopping() -> Unavailable:
    return Unavailable("the service is stopping; call again", reason="NOT_READY")


def _defect() -> Internal:
    return Internal("internal error; the request id leads to the log entry")


@contextmanager
def _measured(scope: Scope, method: str, headers: Headers) -> Iterator[None]:
    request_id = scope["state"]["request_id"]
    started = time.perf_counter()
    metrics.INFLIGHT.inc()
    with served_span(f"rest/{method}", dict(headers), request_id=request_id) as span:
        try:
            yield
        finally:
            elapsed = time.perf_counter() - started
            metrics.INFLIGHT.dec()
            code = scope["state"]["code"]
            end_served(span, code)
            observed = metrics.RPC_SECONDS.labels(service="rest", method=method, code=code)
            observed.observe(elapsed, exemplar(request_id))
            log.info("served", facade="rest", method=method, code=code, milliseconds=round(elapsed * 1000, 1))


@asynccontextmanager
async def _while_connected(receive: Receive, reply: Reply) -> AsyncIterator[None]:
    """Cancels the block when the caller goes away before the response is complete."""

    async def watch(scope: asyncio.Timeout) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        if not reply.finished:
            scope.reschedule(asyncio.get_running_loop().time())

    scope = asyncio.timeout(None)
    try:
        async with scope:
            watcher = asyncio.create_task(watch(scope))
            try:
                yield
            finally:
                watcher.cancel()
    except TimeoutError:
        if not scope.expired():
            raise
        raise Cancelled("the caller went away") from None
