"""Keys of the issuer: rotation, outages, and who pays for made-up key ids."""

import asyncio
import http.server
import json
import threading
from collections.abc import Iterator

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm

from radref.errors import Unavailable
from radref.service.access.jwks import MIN_REFRESH_SECONDS, KeySet, from_file, from_url, parse_keys
from tests.service.access_issuer import Issuer


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


class Source:
    """Counts how often the keys are asked for; `down` makes it fail."""

    def __init__(self) -> None:
        self.issuer = Issuer()
        self.asked = 0
        self.down = False

    def __call__(self) -> bytes:
        self.asked += 1
        if self.down:
            raise OSError("connection refused")
        return self.issuer.jwks()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def source() -> Source:
    return Source()


@pytest.fixture
def keys(source: Source, clock: Clock) -> KeySet:
    return KeySet(source, max_age=600, clock=clock)


async def test_keys_are_fetched_once_and_kept(keys: KeySet, source: Source) -> None:
    found = await asyncio.gather(*(keys.key("key-1") for _ in range(20)))
    assert all(key is not None for key in found)
    assert source.asked == 1


async def test_an_unknown_key_is_asked_for_once_and_then_not_for_a_while(
    keys: KeySet, source: Source, clock: Clock
) -> None:
    await keys.key("key-1")
    clock.now += MIN_REFRESH_SECONDS
    for number in range(50):
        assert await keys.key(f"made-up-{number}") is None
    assert source.asked == 2


async def test_a_rotated_key_is_found_and_the_old_one_forgotten(
    keys: KeySet, source: Source, clock: Clock
) -> None:
    await keys.key("key-1")
    source.issuer.rotate()
    clock.now += MIN_REFRESH_SECONDS
    assert await keys.key("key-2") is not None
    assert await keys.key("key-1") is None


async def test_a_withdrawn_key_is_refused_once_the_keys_are_old(
    keys: KeySet, source: Source, clock: Clock
) -> None:
    await keys.key("key-1")
    source.issuer.rotate()
    clock.now += 601
    # The first call still is answered from what is known; it starts the refresh.
    assert await keys.key("key-1") is not None
    assert keys._refreshing is not None
    await keys._refreshing
    assert await keys.key("key-1") is None


async def test_known_keys_go_on_while_the_key_server_is_down(
    keys: KeySet, source: Source, clock: Clock
) -> None:
    await keys.key("key-1")
    source.down = True
    clock.now += 100_000
    for _ in range(3):
        assert await keys.key("key-1") is not None
        clock.now += 100_000
    assert await keys.key("unheard-of") is None


async def test_without_any_keys_an_outage_is_an_outage_and_ends_by_itself(
    keys: KeySet, source: Source, clock: Clock
) -> None:
    source.down = True
    for _ in range(5):
        with pytest.raises(Unavailable):
            await keys.key("key-1")
    assert source.asked == 1
    source.down = False
    clock.now += MIN_REFRESH_SECONDS
    assert await keys.key("key-1") is not None


async def test_garbage_does_not_take_the_place_of_keys(clock: Clock, source: Source) -> None:
    answers = [source.issuer.jwks(), b"<html>", b'{"keys": []}', b"[]"]
    keys = KeySet(lambda: answers.pop(0), max_age=600, clock=clock)
    await keys.key("key-1")
    while answers:
        clock.now += 700
        assert await keys.key("unheard-of") is None
        assert await keys.key("key-1") is not None


async def test_one_caller_that_gives_up_does_not_end_the_fetch_for_others(clock: Clock) -> None:
    issuer, go = Issuer(), threading.Event()

    def slow() -> bytes:
        go.wait(10)
        return issuer.jwks()

    keys = KeySet(slow, max_age=600, clock=clock)
    first, second = (asyncio.create_task(keys.key("key-1")) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    go.set()
    assert await second is not None


def test_only_public_signature_keys_are_taken() -> None:
    rsa_key = json.loads(RSAAlgorithm.to_jwk(rsa.generate_private_key(65537, 2048).public_key()))
    entries = [
        {"kty": "oct", "kid": "secret", "k": "c2VjcmV0"},
        {**rsa_key, "kid": "for-encryption", "use": "enc"},
        {**rsa_key, "kid": "good"},
        {**rsa_key, "kid": None},
        {"kty": "RSA", "kid": "broken", "n": "?", "e": "?"},
        "not even an object",
    ]
    assert set(parse_keys(json.dumps({"keys": entries}).encode())) == {"good"}


@pytest.fixture
def web() -> Iterator[tuple[str, dict[str, bytes]]]:
    pages: dict[str, bytes] = {}

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/moved":
                self.send_response(302)
                self.send_header("Location", "/keys")
                self.end_headers()
                return
            self.send_response(200)
            self.end_headers()
            self.wfile.write(pages[self.path])

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", pages
    finally:
        server.shutdown()
        server.server_close()


def test_keys_come_from_their_address_and_from_no_other(web, tmp_path) -> None:
    address, pages = web
    pages["/keys"] = Issuer().jwks()
    pages["/huge"] = b" " * (2 << 20)
    assert from_url(f"{address}/keys", None)() == pages["/keys"]
    with pytest.raises(OSError, match="302"):
        from_url(f"{address}/moved", None)()
    with pytest.raises(ValueError, match="too large"):
        from_url(f"{address}/huge", None)()
    path = tmp_path / "jwks.json"
    path.write_bytes(pages["/keys"])
    assert from_file(path)() == pages["/keys"]
