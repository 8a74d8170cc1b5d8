"""Public keys of the identity provider, as a JWK Set (RFC 7517), kept fresh while they are used."""

from __future__ import annotations

import asyncio
import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, Protocol

import jwt
import structlog

from radref.errors import Unavailable

# A key that is withdrawn there is refused here after so many seconds at the latest.
LIFESPAN_SECONDS: Final = 300.0
# Tokens with invented key ids must not make this service hammer the provider.
RETRY_SECONDS: Final = 10.0
FETCH_TIMEOUT_SECONDS: Final = 5.0
# A provider has a handful of keys of some hundred bytes.
MAX_BYTES: Final = 1 << 20

log = structlog.get_logger()


class KeySource(Protocol):
    """Where the set comes from."""

    def read(self) -> bytes:
        """Blocks. Raises OSError."""


class KeyFile:
    """A file, replaced when keys rotate."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> bytes:
        return self._path.read_bytes()


class KeyUrl:
    """The provider's jwks_uri. Redirects are followed to https only."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._opener = urllib.request.build_opener(_HttpsRedirects())

    def read(self) -> bytes:
        request = urllib.request.Request(self._url, headers={"Accept": "application/json"})
        with self._opener.open(request, timeout=FETCH_TIMEOUT_SECONDS) as response:
            body: bytes = response.read(MAX_BYTES + 1)
        if len(body) > MAX_BYTES:
            raise OSError("the key set is too large")
        return body


class _HttpsRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, req, fp, code, msg, headers, newurl):  # type: ignore[no-untyped-def]
        if not newurl.startswith("https://"):
            raise urllib.error.URLError("redirect to an address without TLS")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


class Keys:
    """The set, by key id. When the provider does not answer, known keys go on.

    Args:
        source: read in a thread, never on the event loop.
        clock: monotonic seconds.
    """

    def __init__(self, source: KeySource, clock: Callable[[], float] = time.monotonic) -> None:
        self._source = source
        self._clock = clock
        self._keys: Mapping[str, jwt.PyJWK] = {}
        self._tried: float | None = None
        self._read_at: float | None = None
        self._refreshing: asyncio.Task[None] | None = None

    async def get(self, key_id: str) -> jwt.PyJWK | None:
        """The key; None when the provider has none with this id.

        Raises:
            Unavailable: no key set was ever read.
        """
        known = self._keys.get(key_id)
        refresh = self._refresh_soon() if known is None or self._stale() else None
        if known is not None:
            # Whoever asks for what is known does not wait for the provider.
            return known
        if refresh is not None:
            await asyncio.shield(refresh)
        self._require_read()
        return self._keys.get(key_id)

    async def check(self) -> None:
        """Reads the set unless it is there. Raises Unavailable."""
        if self._read_at is None and (refresh := self._refresh_soon()) is not None:
            await asyncio.shield(refresh)
        self._require_read()

    def _require_read(self) -> None:
        if self._read_at is None:
            raise Unavailable(
                "the keys of the identity provider cannot be read", metadata={"backend": "jwks"}
            )

    def _stale(self) -> bool:
        return self._read_at is None or self._clock() - self._read_at > LIFESPAN_SECONDS

    def _refresh_soon(self) -> asyncio.Task[None] | None:
        """The refresh that runs or begins now; None when the last one is too short ago."""
        if self._refreshing is None:
            if self._tried is not None and self._clock() - self._tried < RETRY_SECONDS:
                return None
            self._tried = self._clock()
            self._refreshing = asyncio.create_task(self._refresh(), name="jwks")
            self._refreshing.add_done_callback(self._done)
        return self._refreshing

    def _done(self, task: asyncio.Task[None]) -> None:
        self._refreshing = None

    async def _refresh(self) -> None:
        try:
            keys = read_key_set(await asyncio.to_thread(self._source.read))
        except (OSError, ValueError) as exc:
            log.warning("key set cannot be read", cause=type(exc).__name__, known_keys=len(self._keys))
            return
        self._keys, self._read_at = keys, self._clock()


def read_key_set(body: bytes) -> dict[str, jwt.PyJWK]:
    """Keys for signatures, by id. Keys without an id, of unknown kinds or for encryption are left out.

    Raises:
        ValueError: it is no key set, or no key of it can be used.
    """
    loaded = json.loads(body)
    if not isinstance(loaded, dict) or not isinstance(loaded.get("keys"), list):
        raise ValueError("no key set")
    keys: dict[str, jwt.PyJWK] = {}
    for entry in loaded["keys"]:
        # A symmetric key in a public set is a mistake, and an invitation.
        if not isinstance(entry, dict) or entry.get("use", "sig") != "sig" or entry.get("kty") == "oct":
            continue
        try:
            key = jwt.PyJWK.from_dict(entry)
        except (jwt.PyJWTError, ValueError, TypeError, KeyError):
            continue
        if isinstance(key.key_id, str):
            keys[key.key_id] = key
    if not keys:
        raise ValueError("no key that can be used")
    return keys
