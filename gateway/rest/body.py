"""Reads a request's body before anything else happens: bounded in size and time."""

from __future__ import annotations

import asyncio
from email.message import Message

from starlette.datastructures import Headers
from starlette.types import Receive

from gateway.rest.limits import MAX_BODY_BYTES, READ_SECONDS
from radref.errors import Cancelled, DeadlineExceeded, InvalidInput


class HttpError(Exception):
    """An error whose HTTP status says more than its reason."""

    def __init__(self, status: int, error: InvalidInput | DeadlineExceeded) -> None:
        super().__init__(error.message)
        self.status = status
        self.error = error


def check_json(headers: Headers) -> None:
    """Raises HttpError (415) unless the body is announced as JSON in UTF-8."""
    message = Message()
    message["content-type"] = headers.get("content-type", "")
    charset = str(message.get_param("charset") or "utf-8").lower()
    if message.get_content_type() != "application/json" or charset not in ("utf-8", "us-ascii"):
        error = InvalidInput("send the body as application/json in UTF-8", field="content-type")
        raise HttpError(415, error)


async def read_body(headers: Headers, receive: Receive) -> bytes:
    """The whole body.

    Raises:
        HttpError: 413, longer than MAX_BODY_BYTES; 408, not here after READ_SECONDS.
        Cancelled: the caller went away.
    """
    announced = headers.get("content-length", "")
    if announced.isdigit() and int(announced) > MAX_BODY_BYTES:
        raise _too_long()
    try:
        async with asyncio.timeout(READ_SECONDS):
            return await _read(receive)
    except TimeoutError:
        raise HttpError(408, DeadlineExceeded("the body did not arrive in time")) from None


async def _read(receive: Receive) -> bytes:
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Cancelled("the caller went away")
        body += message.get("body", b"")
        if len(body) > MAX_BODY_BYTES:
            raise _too_long()
        if not message.get("more_body", False):
            return bytes(body)


def _too_long() -> HttpError:
    error = InvalidInput(
        f"the body is longer than {MAX_BODY_BYTES} bytes",
        reason="TEXT_TOO_LONG",
        metadata={"limit": str(MAX_BODY_BYTES)},
    )
    return HttpError(413, error)


def replayed(body: bytes) -> Receive:
    """Gives the body to the application once. That the caller went away cancels who waits."""
    given = False

    async def receive() -> dict[str, object]:
        nonlocal given
        if given:
            await asyncio.Event().wait()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return receive
