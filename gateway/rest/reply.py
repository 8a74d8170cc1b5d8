"""The response on its way out: headers that every one has, and what can still be said after a failure."""

from __future__ import annotations

from starlette.datastructures import MutableHeaders
from starlette.types import Message, Receive, Scope, Send

from gateway.rest import events
from gateway.rest.problems import problem_of, problem_response
from radref.errors import RadrefError


class Reply:
    """Sends, and knows how far it got.

    Args:
        scope: the request's, with its id in the state.
        send: the server's.
    """

    def __init__(self, scope: Scope, send: Send) -> None:
        self._scope = scope
        self._send = send
        self._without_body = scope["method"] == "HEAD"
        self._is_stream = False
        self.started = False
        self.finished = False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.started = True
            headers = MutableHeaders(scope=message)
            headers["X-Request-Id"] = self._scope["state"]["request_id"]
            # Questions and answers stay out of every cache, and JSON is never taken for a page.
            headers["Cache-Control"] = "no-store"
            headers["X-Content-Type-Options"] = "nosniff"
            self._is_stream = headers.get("content-type", "").startswith(events.MEDIA_TYPE)
        elif message["type"] == "http.response.body":
            self.finished = not message.get("more_body", False)
            if self._without_body:
                message = {**message, "body": b""}
        await self._send(message)

    async def fail(self, error: RadrefError, status: int | None, receive: Receive) -> None:
        """Says what went wrong: as the response, or as the last event of a stream that has begun."""
        if not self.started:
            await problem_response(error, self._scope, status)(self._scope, receive, self.send)
            return
        problem = problem_of(error, self._scope, status)
        if self._is_stream and not self.finished:
            await self.send({"type": "http.response.body", "body": events.event("error", problem)})
