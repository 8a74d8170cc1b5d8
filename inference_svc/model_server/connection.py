"""The HTTP client of one model server."""

from __future__ import annotations

import ssl
from pathlib import Path

import httpx2
from openai import AsyncOpenAI

from radref.service.tracing.spans import trace_headers

CONNECT_SECONDS = 5.0
# uvicorn, which runs vLLM, closes a connection that idles for 5 s: ours goes first.
_KEEPALIVE_SECONDS = 4.0
# The SDK insists on a key; a server without one gets no Authorization header at all.
_NO_KEY = "none"


def open_client(*, base_url: str, api_key: str, ca_file: Path | None) -> AsyncOpenAI:
    """A client that goes nowhere but to `base_url`: no redirects, no proxies, no retries of its own.

    How long a request may take is for its caller to bound; only connecting has a limit of its own
    (`CONNECT_SECONDS`).

    Args:
        base_url: http:// or https:// address up to what comes before "/chat/completions" or "/rerank".
        api_key: sent as bearer token; empty = none is sent.
        ca_file: PEM file of the only authorities trusted for https; None = those of the system.

    Raises:
        ValueError: the address, the key or the file cannot be used; names which.
    """
    if not base_url.startswith(("http://", "https://")) or not httpx2.URL(base_url).host:
        raise ValueError("base_url must be an http:// or https:// address of a model server")
    key = api_key.strip()
    if not (key.isascii() and key.isprintable()):
        raise ValueError("api_key must be one line of ASCII characters")
    http = httpx2.AsyncClient(
        verify=_trusted(base_url, ca_file),
        trust_env=False,
        follow_redirects=False,
        timeout=httpx2.Timeout(None, connect=CONNECT_SECONDS),
        limits=httpx2.Limits(max_connections=None, keepalive_expiry=_KEEPALIVE_SECONDS),
        event_hooks={"request": [_add_trace_headers, *([] if key else [_drop_authorization])]},
    )
    return AsyncOpenAI(api_key=key or _NO_KEY, base_url=base_url, http_client=http, max_retries=0)


async def _add_trace_headers(request: httpx2.Request) -> None:
    request.headers.update(trace_headers())


async def _drop_authorization(request: httpx2.Request) -> None:
    request.headers.pop("Authorization", None)


def _trusted(base_url: str, ca_file: Path | None) -> ssl.SSLContext:
    if ca_file is None and base_url.startswith("http://"):
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # trusts nobody; the system's take 0.3 s to load
    try:
        return ssl.create_default_context(cafile=ca_file)
    except (OSError, ssl.SSLError) as exc:
        raise ValueError(f"ca_file {ca_file} is no readable PEM file of certificates") from exc
