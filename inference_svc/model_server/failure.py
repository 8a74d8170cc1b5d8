"""What the HTTP exchange with a model server may end in, as errors of radref.

A server's own words are never passed on: they may quote the prompt.
"""

from __future__ import annotations

import email.utils
import math
import re
import ssl
import time
from collections.abc import Mapping

import httpx2
import openai

from inference_svc.places import RETRY_AFTER_SECONDS
from radref.errors import DeadlineExceeded, Internal, InvalidInput, Overloaded, RadrefError, Unavailable

_OVERLOADED = (429, 503)
_PASSING = (429, 502, 503, 504)
# How servers say that the prompt does not fit: vLLM (`param`, message), OpenAI (`code`), llama.cpp (`type`,
# message), SGLang and Ollama (message).
_TOO_LONG_MARKS = {"input_tokens", "input_text", "context_length_exceeded", "exceed_context_size_error"}
_TOO_LONG = re.compile(
    r"context (?:length|size|window)|too many (?:input )?tokens|(?:input|prompt)(?: length)? is too long",
    re.I,
)
# vLLM and llama.cpp, of a schema that their grammar compiler refuses: no other attempt would help.
_SCHEMA = re.compile(r"\bgrammar\b|json[_ ]?schema|structured[_ ]outputs?", re.I)
# Longer messages quote the prompt rather than explain.
_MESSAGE_CHARACTERS = 2_000


class Failed(Exception):
    """An attempt failed.

    Args:
        error: what the caller is told if there is no other attempt.
        passing: whether another attempt may succeed.
        wait: seconds that the server asked to wait; None = it did not say.
    """

    def __init__(self, error: RadrefError, *, passing: bool, wait: float | None = None) -> None:
        super().__init__(error.message)
        self.error = error
        self.passing = passing
        self.wait = wait


def failed_call(exc: openai.APIError, backend: str, *, answering: bool, field: str) -> Failed:
    """What an exception of the SDK means.

    Args:
        exc: what it raised.
        backend: what the server is for, e.g. "language model qwen3"; part of messages.
        answering: whether the answer had begun.
        field: request field that is too long when the server says that its input is.
    """
    if isinstance(exc, openai.APIResponseValidationError):
        return garbage(backend)
    if isinstance(exc, openai.APIStatusError):
        wait = retry_after(exc.response.headers)
        return _refused(exc.status_code, exc.body, wait, backend, answering=answering, field=field)
    if isinstance(exc, openai.APIConnectionError):
        return _disconnected(exc, backend, answering=answering)
    # An error object inside of a stream that began with status 200.
    status = int(exc.code) if exc.code is not None and re.fullmatch(r"[1-5]\d\d", exc.code) else 500
    return _refused(status, exc.body, None, backend, answering=answering, field=field)


def cut_off(backend: str) -> Failed:
    """The stream ended before the answer was complete."""
    return Failed(Unavailable(f"the {backend} stopped in the middle of its answer; try again"), passing=True)


def stuck(backend: str, *, answering: bool) -> Failed:
    """Nothing came for longer than the idle limit. Not sent again: that would only add to its load."""
    if answering:
        return Failed(cut_off(backend).error, passing=False)
    return Failed(Unavailable(f"the {backend} does not begin to answer; try again"), passing=False)


def too_late(backend: str) -> Failed:
    """The caller's deadline passed."""
    error = DeadlineExceeded(f"the {backend} did not finish its answer in time")
    return Failed(error, passing=False)


def closed(backend: str) -> Failed:
    """The service is stopping and has closed its client."""
    return Failed(Unavailable(f"the connection to the {backend} is closed"), passing=False)


def garbage(backend: str) -> Failed:
    """The server answered, but not what its API promises."""
    error = Internal(f"the server of the {backend} sent something that is no answer of its API")
    return Failed(error, passing=False)


def retry_after(headers: httpx2.Headers) -> float | None:
    """Seconds, >= 0, of a Retry-After header (RFC 9110 section 10.2.3: seconds or a date); None without."""
    value = headers.get("retry-after", "")
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(value).timestamp() - time.time()
        except (ValueError, OverflowError):
            return None
    return max(0.0, seconds) if math.isfinite(seconds) else None


def _disconnected(exc: openai.APIConnectionError, backend: str, *, answering: bool) -> Failed:
    if _certificate_refused(exc):
        error = Unavailable(f"the certificate of the {backend}'s server is not trusted: check its ca_file")
        return Failed(error, passing=False)
    if answering:
        return cut_off(backend)
    return Failed(Unavailable(f"the server of the {backend} does not answer"), passing=True)


def _certificate_refused(exc: BaseException | None) -> bool:
    while exc is not None:
        if isinstance(exc, ssl.SSLCertVerificationError):
            return True
        exc = exc.__cause__ or exc.__context__
    return False


def _refused(
    status: int, body: object, wait: float | None, backend: str, *, answering: bool, field: str
) -> Failed:
    passing = status in _PASSING
    if status in _OVERLOADED:
        after = RETRY_AFTER_SECONDS if wait is None else wait
        error: RadrefError = Overloaded(f"the {backend} is overloaded, try again shortly", retry_after=after)
    elif status == 413 or (status in (400, 422) and _says_too_long(body)):
        error = InvalidInput(
            f"the text is longer than the {backend} can read at once", reason="TEXT_TOO_LONG", field=field
        )
    elif status in (400, 422) and _SCHEMA.search(_message(body)):
        error = InvalidInput(f"the server of the {backend} cannot use this JSON schema", field="json_schema")
    elif answering and status >= 500:
        return Failed(cut_off(backend).error, passing=passing)
    else:
        error = Unavailable(_advice(status, backend))
    return Failed(error, passing=passing, wait=wait)


def _advice(status: int, backend: str) -> str:
    server = f"the server of the {backend}"
    if status in (401, 403):
        return f"{server} refuses the key (HTTP {status}): check its api_key"
    if status == 404:
        return f"{server} knows no such model or path (HTTP 404): check its base_url and upstream model"
    if status >= 500 or status == 408:
        return f"{server} failed (HTTP {status}): see its log"
    if status >= 400:
        return f"{server} refuses this kind of request (HTTP {status}): see its log and the model's settings"
    return f"{server} answers from elsewhere (HTTP {status}): check its base_url"


def _says_too_long(body: object) -> bool:
    if not isinstance(body, Mapping):
        return False
    marks = [body.get(key) for key in ("param", "code", "type")]
    if any(isinstance(mark, str) and mark in _TOO_LONG_MARKS for mark in marks):
        return True
    return _TOO_LONG.search(_message(body)) is not None


def _message(body: object) -> str:
    message = body.get("message") if isinstance(body, Mapping) else None
    return message[:_MESSAGE_CHARACTERS] if isinstance(message, str) else ""
