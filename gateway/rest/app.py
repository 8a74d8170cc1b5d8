"""The routes: each maps JSON to a call of the desk and back; no logic here."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Annotated, Any

from fastapi import Depends, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import StreamingResponse
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp

from gateway.audit.asker import asker
from gateway.model import AnswerEvent, Sources
from gateway.rest import consult_mapping, events, mapping
from gateway.rest.edge import Edge
from gateway.rest.limits import SiteLimits
from gateway.rest.models import answers, consults, passages, requests
from gateway.rest.openapi import describe
from gateway.rest.ports import Desk, Guard
from gateway.rest.problems import invalid_request, problem_of, problem_response
from gateway.validation import ValidatedStatement
from radref.errors import Internal, InvalidInput, RadrefError, Unimplemented


async def _until_sent() -> AsyncIterator[AsyncExitStack]:
    """What is entered here ends after the response was sent, or when the caller went away."""
    async with AsyncExitStack() as stack:
        yield stack


UntilSent = Annotated[AsyncExitStack, Depends(_until_sent)]


def create_app(
    desk: Desk, guard: Guard, limits: SiteLimits, heartbeat_seconds: float = events.HEARTBEAT_SECONDS
) -> ASGIApp:
    """The REST facade as an ASGI application.

    Args:
        desk: answers.
        guard: stands around every route that is an RPC.
        limits: of the site.
        heartbeat_seconds: silence in a stream before a comment is sent.
    """
    app = create_routes(desk, limits, heartbeat_seconds)
    return Edge(app, app.routes, guard, limits.max_timeout)


def create_routes(
    desk: Desk, limits: SiteLimits, heartbeat_seconds: float = events.HEARTBEAT_SECONDS
) -> FastAPI:
    """The routes without what stands around them. Arguments as in `create_app`."""
    app = FastAPI(
        # No page that loads scripts from elsewhere: hospitals have no way out.
        docs_url=None,
        redoc_url=None,
        generate_unique_id_function=lambda route: route.name,
        exception_handlers=dict(_HANDLERS),
    )
    app.openapi = lambda: describe(app, limits)  # type: ignore[method-assign]

    @app.post("/v1/search", name="Search")
    async def search(body: requests.SearchRequest, request: Request) -> answers.SearchResponse:
        """Ranked passages without an answer."""
        found = await desk.search(mapping.search_query_from(body), actor=asker())
        return mapping.search_to(body.query, found, _request_id(request))

    @app.post("/v1/prompt", name="Prompt")
    async def prompt(body: requests.PromptRequest, request: Request) -> answers.PromptResponse:
        """The prompt that would be sent to the generator, and its passages."""
        result = await desk.prompt(body.query, mapping.filters_from(body.filters), actor=asker())
        return mapping.prompt_to(body.query, result, _request_id(request))

    @app.post("/v1/generate", name="Generate")
    async def generate(body: requests.GenerateRequest, request: Request) -> answers.GenerateResponse:
        """An answer whose every statement carries a checked citation, or an abstention with its reason."""
        answer = await desk.answer(body.query, mapping.filters_from(body.filters), body.model, actor=asker())
        return mapping.answer_to(body.query, answer, _request_id(request), want_prompt=body.want_prompt)

    @app.post("/v1/generate:stream", name="StreamGenerate", response_class=StreamingResponse)
    async def stream_generate(
        body: requests.StreamGenerateRequest, request: Request, until_sent: UntilSent
    ) -> StreamingResponse:
        """The same, statement by statement, as server-sent events; each was checked before it is sent."""
        items = desk.answer_stream(body.query, mapping.filters_from(body.filters), body.model, actor=asker())
        feed = await until_sent.enter_async_context(events.feed_of(items))
        # What fails before there is anything to show is a response with a status of its own.
        first = await feed.next()
        return StreamingResponse(
            _events(first, feed, request, heartbeat_seconds),
            headers=events.HEADERS,
            media_type=events.MEDIA_TYPE,
        )

    @app.post("/v1/consult", name="Consult")
    async def consult(body: requests.ConsultRequest, request: Request) -> consults.ConsultResponse:
        """Imaging appropriateness for a scenario: one variant's rated procedures, or an abstention."""
        result = await desk.consult(body.scenario, actor=asker())
        return consult_mapping.consultation_to(result, _request_id(request))

    @app.get("/v1/sources/{citation_id}", name="GetSource")
    async def get_source(citation_id: passages.CitationIdInPath) -> passages.GetSourceResponse:
        """The exact passage behind a citation, of any version ever indexed."""
        return mapping.source_to(await desk.source(citation_id))

    return app


async def _events(
    first: AnswerEvent | None, feed: events.Feed[AnswerEvent], request: Request, heartbeat_seconds: float
) -> AsyncIterator[bytes]:
    try:
        if first is not None:
            yield _event(first, request)
        async for item in events.with_heartbeats(feed, heartbeat_seconds):
            yield events.HEARTBEAT if item is None else _event(item, request)
    except RadrefError as exc:
        yield events.event("error", problem_of(exc, request.scope))


def _event(item: AnswerEvent, request: Request) -> bytes:
    if isinstance(item, Sources):
        return events.event("sources", mapping.sources_to(item, _request_id(request)))
    if isinstance(item, ValidatedStatement):
        return events.event("statement", mapping.statement_to(item))
    return events.event("end", mapping.end_to(item))


def _request_id(request: Request) -> str:
    return str(request.scope["state"]["request_id"])


async def _on_error(request: Request, error: Any) -> Response:
    return problem_response(error, request.scope)


async def _on_invalid(request: Request, error: Any) -> Response:
    return problem_response(invalid_request(error.errors()), request.scope)


async def _on_http(request: Request, error: Any) -> Response:
    if error.status_code == 405 and request.method == "OPTIONS":
        return Response(status_code=204, headers=error.headers)
    if error.status_code in (404, 405):
        missing = Unimplemented("there is no such method or path", reason="UNKNOWN_METHOD")
        return problem_response(missing, request.scope, error.status_code, error.headers)
    # FastAPI's own: a body that json cannot read for another reason than its syntax.
    return problem_response(InvalidInput("the body cannot be read as JSON"), request.scope)


async def _on_defect(request: Request, error: Any) -> Response:
    # The edge logs it: Starlette raises it again after this response.
    return problem_response(Internal("internal error; the request id leads to the log entry"), request.scope)


_HANDLERS: dict[int | type[Exception], Any] = {
    RadrefError: _on_error,
    RequestValidationError: _on_invalid,
    HTTPException: _on_http,
    Exception: _on_defect,
}
