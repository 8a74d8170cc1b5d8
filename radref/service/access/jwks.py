"""The issuer's public keys: kept, fetched again when they are old or one is missing.

A key server that is down changes nothing for the keys that are known. Fetching happens in a thread.
"""

from __future__ import annotations

import asyncio
import json
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import jwt
import structlog

from radref.errors import Unavailable
from radref.service.metrics import BACKEND_UP

BACKEND = "key-server"
# The set of a large issuer is some 20 KiB.
MAX_BYTES = 1 << 20
FETCH_TIMEOUT_SECONDS = 5.0
# Tokens with made-up key ids must not become a load on the key server, nor a down server on us.
MIN_REFRESH_SECONDS = 10.0

# Returns the bytes of a JWKS; blocks, so it runs in a thread.
Fetch: TypeAlias = Callable[[], bytes]
log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class SigningKey:
    """One public key of the issuer.

    Attributes:
        key: the public key, as the library cryptography has it.
        algorithm: the only one it is for, e.g. "RS256"; None = the issuer does not say.
    """

    key: Any
    algorithm: str | None


class KeySet:
    """Public keys by id.

    Args:
        fetch: reads the key set; blocking.
        max_age: seconds after which keys are fetched again while the known ones go on.
        clock: monotonic seconds.
    """

    def __init__(self, fetch: Fetch, *, max_age: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._fetch = fetch
        self._max_age = max_age
        self._clock = clock
        self._keys: Mapping[str, SigningKey] = {}
        self._fetched_at: float | None = None
        self._tried_at: float | None = None
        self._refreshing: asyncio.Task[None] | None = None

    async def key(self, kid: str) -> SigningKey | None:
        """The key with this id; None when the issuer has no such key.

        Raises:
            Unavailable: no keys are known yet and the key server does not answer.
        """
        if self._old():
            # Known keys go on meanwhile: a slow key server must not make calls slow.
            self._start_refresh()
        found = self._keys.get(kid)
        if found is None:
            if (task := self._start_refresh()) is not None:
                # Shared by all who wait for it: one caller that gives up must not end it for the others.
                await asyncio.shield(task)
            found = self._keys.get(kid)
        if found is None and self._fetched_at is None:
            raise Unavailable(
                "the keys that tokens are checked with cannot be read",
                metadata={"backend": BACKEND},
                retry_after=MIN_REFRESH_SECONDS,
            )
        return found

    def _old(self) -> bool:
        return self._fetched_at is not None and self._clock() - self._fetched_at > self._max_age

    def _start_refresh(self) -> asyncio.Task[None] | None:
        """The refresh in flight or a new one; None when the last one was a moment ago."""
        if self._refreshing is not None and not self._refreshing.done():
            return self._refreshing
        now = self._clock()
        if self._tried_at is not None and now - self._tried_at < MIN_REFRESH_SECONDS:
            return None
        self._tried_at = now
        self._refreshing = asyncio.create_task(self._refresh(), name="jwks")
        return self._refreshing

    async def _refresh(self) -> None:
        try:
            keys = parse_keys(await asyncio.to_thread(self._fetch))
        except (OSError, ValueError) as exc:
            BACKEND_UP.labels(backend=BACKEND).set(0)
            log.warning("keys not read", error=type(exc).__name__, known=len(self._keys))
            return
        BACKEND_UP.labels(backend=BACKEND).set(1)
        if set(keys) != set(self._keys):
            log.info("keys read", keys=len(keys))
        self._keys, self._fetched_at = keys, self._clock()


def parse_keys(data: bytes) -> dict[str, SigningKey]:
    """Public signature keys of a JWKS by their id; kinds that radref does not use are left out.

    Raises:
        ValueError: no JWKS, or one without a usable key.
    """
    loaded: Any = json.loads(data)
    if not isinstance(loaded, dict) or not isinstance(loaded.get("keys"), list):
        raise ValueError("not a JWKS")
    keys: dict[str, SigningKey] = {}
    for entry in loaded["keys"]:
        # An "oct" key is a shared secret; it has no place in a public set.
        if not isinstance(entry, dict) or entry.get("kty") not in ("RSA", "EC", "OKP"):
            continue
        if entry.get("use", "sig") != "sig" or not isinstance(entry.get("kid"), str):
            continue
        try:
            key = jwt.PyJWK(entry).key
        except jwt.PyJWTError:
            continue
        keys[entry["kid"]] = SigningKey(key, entry.get("alg"))
    if not keys:
        raise ValueError("no usable key")
    return keys


def from_file(path: Path) -> Fetch:
    """Reads the keys from a file."""
    return path.read_bytes


def from_url(url: str, ca_file: Path | None) -> Fetch:
    """Reads the keys over HTTP(S), without following redirects.

    Args:
        url: their address.
        ca_file: trusted authorities, PEM; None = the system's. Read at every fetch, so it may be renewed.
    """

    def fetch() -> bytes:
        context = ssl.create_default_context(cafile=str(ca_file) if ca_file else None)
        opener = urllib.request.build_opener(urllib.request.HTTPSHandler(context=context), _NoRedirects)
        with opener.open(url, timeout=FETCH_TIMEOUT_SECONDS) as response:
            data: bytes = response.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise ValueError("the key set is too large")
        return data

    return fetch


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Keys come from the address in the settings or not at all."""

    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        return None
