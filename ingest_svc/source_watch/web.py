"""Looks at a web address: conditional, bounded, redirects followed only where the rules allow them."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from types import TracebackType
from typing import Self
from urllib.parse import SplitResult, unquote, urljoin, urlunsplit

import httpx2

from ingest_svc.source_watch.addresses import AddressRules, ascii_host
from ingest_svc.source_watch.model import Content, Gone, Look, LookFailed, Unchanged, Validators

MAX_REDIRECTS = 5
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_GONE = frozenset({404, 410})
_MAX_VALIDATOR = {"etag": 500, "last-modified": 100}
# A name without ending is told by content; a page of a site is mostly HTML without saying so.
_ENDINGS = {
    "application/pdf": ".pdf",
    "text/html": ".html",
    "application/xhtml+xml": ".html",
    "text/plain": ".txt",
    "text/markdown": ".md",
    "text/csv": ".csv",
    "application/rtf": ".rtf",
    "application/msword": ".doc",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": ".docx",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": ".xlsx",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation": ".pptx",
}


class Web:
    """Fetches addresses. A context manager; proxies of the environment are not used."""

    def __init__(self, rules: AddressRules, *, timeout: float, max_bytes: int) -> None:
        """
        Args:
            timeout: seconds for connecting, and for each piece of an answer, > 0.
            max_bytes: size of a document at most.
        """
        self._rules = rules
        self._max_bytes = max_bytes
        self._client = httpx2.AsyncClient(
            timeout=timeout, follow_redirects=False, trust_env=False, headers={"Accept-Encoding": "identity"}
        )

    async def close(self) -> None:
        """Closes its connections."""
        await self._client.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def look(self, url: str, known: Validators) -> Look:
        """What is at an address now.

        Args:
            known: validators of the last answer; the server may then answer that nothing changed.

        Raises:
            LookFailed: the rules refuse the address or a redirect, the host does not answer, answers with an
                error, or with too many bytes.
        """
        for _ in range(MAX_REDIRECTS + 1):
            parts = self._rules.check(url)
            try:
                found = await self._ask(parts, await self._rules.resolve(parts), known)
            except (httpx2.HTTPError, httpx2.InvalidURL) as exc:
                raise LookFailed(f"the host does not answer as it should ({type(exc).__name__})") from None
            if not isinstance(found, str):
                return found
            try:
                url = urljoin(url, found)
            except ValueError:
                raise LookFailed("the address of a redirect is not well formed") from None
        raise LookFailed(f"more than {MAX_REDIRECTS} redirects")

    async def _ask(self, parts: SplitResult, address: str, known: Validators) -> Look | str:
        """What the address answers; a string is where it redirects to."""
        host = ascii_host(parts)
        numeric = f"[{address}]" if ":" in address else address
        netloc = numeric if parts.port is None else f"{numeric}:{parts.port}"
        url = urlunsplit((parts.scheme, netloc, parts.path or "/", parts.query, ""))
        headers = {"Host": host if parts.port is None else f"{host}:{parts.port}"}
        if known.etag:
            headers["If-None-Match"] = known.etag
        if known.last_modified:
            headers["If-Modified-Since"] = known.last_modified
        async with self._client.stream(
            "GET", url, headers=headers, extensions={"sni_hostname": host}
        ) as response:
            if response.status_code == 304:
                return Unchanged()
            if response.status_code in _GONE:
                return Gone()
            if response.status_code in _REDIRECTS and "location" in response.headers:
                return response.headers["location"]
            if response.status_code != 200:
                raise LookFailed(f"the host answered with HTTP status {response.status_code}")
            data = bytearray()
            async for piece in response.aiter_bytes():
                data += piece
                if len(data) > self._max_bytes:
                    raise LookFailed(f"the document is larger than {self._max_bytes} bytes")
            if not data:
                raise LookFailed("the host answered with an empty document")
            validators = Validators(_validator(response, "etag"), _validator(response, "last-modified"))
            return Content(bytes(data), _file_name(parts, response), validators)


def _validator(response: httpx2.Response, name: str) -> str:
    value = response.headers.get(name, "")
    # Cut, it would never match again: better none.
    return value if len(value) <= _MAX_VALIDATOR[name] else ""


def _file_name(parts: SplitResult, response: httpx2.Response) -> str:
    name = re.sub(r"[\x00-\x1f/\\]", "", PurePosixPath(unquote(parts.path)).name) or (
        parts.hostname or "document"
    )
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    ending = _ENDINGS.get(kind, "")
    if ending and not name.lower().endswith(ending):
        known = PurePosixPath(name).suffix.lower() in {*_ENDINGS.values(), ".htm"}
        name = name if known else name + ending
    return name[-200:]
