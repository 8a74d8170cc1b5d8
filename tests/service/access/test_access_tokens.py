"""Which tokens prove a caller, and how keys are kept."""

import asyncio
import time
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from radref.errors import Overloaded, PermissionDenied, Unauthenticated, Unavailable
from radref.service.access.caller import Role
from radref.service.access.control import AccessControl
from radref.service.access.keys import LIFESPAN_SECONDS, RETRY_SECONDS, Keys, KeyUrl, read_key_set
from radref.service.access.rate_limit import RateLimit
from radref.service.access.settings import AccessSettings
from radref.service.access.tokens import MAX_TOKEN, TokenVerifier
from tests.service.access.token_kit import AUDIENCE, ISSUER, Provider

PROVIDER = Provider()


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def verifier(provider: Provider = PROVIDER, clock: Clock | None = None, **more: Any) -> TokenVerifier:
    made: dict[str, Any] = {
        "issuer": ISSUER,
        "audience": AUDIENCE,
        "algorithms": ("RS256", "ES256"),
        "roles_claim": "roles",
        "leeway": 30,
        **more,
    }
    return TokenVerifier(Keys(provider, clock or Clock()), **made)


async def refused(token: str, reason: str = "TOKEN_INVALID", **more: Any) -> str:
    with pytest.raises(Unauthenticated) as caught:
        await verifier(**more).verify(token)
    assert caught.value.reason == reason
    assert token not in caught.value.message or not token
    return caught.value.message


async def test_a_good_token_names_its_caller() -> None:
    caller = await verifier().verify(PROVIDER.token("reader", "curator", "made-up"))
    assert caller.subject == "dr.ivanova"
    assert caller.roles == {Role.READER, Role.CURATOR}


async def test_the_audience_may_be_one_of_several() -> None:
    await verifier().verify(PROVIDER.token(aud=["portal", AUDIENCE]))


@pytest.mark.parametrize(
    ("claims", "reason"),
    [
        ({"aud": "other"}, "TOKEN_INVALID"),
        ({"aud": None}, "TOKEN_INVALID"),
        ({"iss": "https://evil.example"}, "TOKEN_INVALID"),
        ({"iss": None}, "TOKEN_INVALID"),
        ({"exp": None}, "TOKEN_INVALID"),
        ({"iat": None}, "TOKEN_INVALID"),
        ({"sub": None}, "TOKEN_INVALID"),
        ({"sub": ""}, "TOKEN_INVALID"),
        ({"sub": "a" * 201}, "TOKEN_INVALID"),
        ({"sub": "a\nb"}, "TOKEN_INVALID"),
        ({"exp": int(time.time()) - 31}, "TOKEN_EXPIRED"),
        ({"nbf": int(time.time()) + 120}, "TOKEN_INVALID"),
        ({"iat": int(time.time()) + 120}, "TOKEN_INVALID"),
    ],
)
async def test_claims_that_are_not_accepted(claims: dict[str, Any], reason: str) -> None:
    await refused(PROVIDER.token("reader", **claims), reason)


@pytest.mark.parametrize("claims", [{"exp": int(time.time()) - 5}, {"nbf": int(time.time()) + 20}])
async def test_clocks_may_differ_a_little(claims: dict[str, Any]) -> None:
    await verifier(leeway=300).verify(PROVIDER.token("reader", **claims))


@pytest.mark.parametrize("token", ["", "x", "a.b.c", "....", "é", "a" * (MAX_TOKEN + 1)])
async def test_what_is_no_token(token: str) -> None:
    await refused(token)


async def test_signatures_that_prove_nothing() -> None:
    await refused(PROVIDER.unsigned("admin"))
    await refused(PROVIDER.confused("admin"))
    await refused(PROVIDER.token("admin", header={"alg": "PS256"}))
    # A key of the attacker's own, sent along: headers that carry keys mean nothing here.
    other = Provider({"k1": rsa.generate_private_key(public_exponent=65537, key_size=2048)})
    await refused(other.token("admin"))
    await refused(PROVIDER.token("admin", header={"kid": "unknown"}))
    head, body, signature = PROVIDER.token("reader").split(".")
    forged = jwt.utils.base64url_encode(
        jwt.utils.base64url_decode(body).replace(b"reader", b"admin!")
    ).decode()
    await refused(f"{head}.{forged}.{signature}")


async def test_an_elliptic_key_is_used_by_its_own_algorithm_only() -> None:
    provider = Provider()
    provider.rotate("ec1")
    await verifier(provider).verify(provider.token("reader"))
    await refused(provider.token("reader"), provider=provider, algorithms=("RS256",))


@pytest.mark.parametrize(
    ("path", "claims"),
    [
        ("realm_access.roles", {"realm_access": {"roles": ["reader"]}}),
        ("scope", {"scope": "openid reader"}),
    ],
)
async def test_roles_stand_where_the_site_says(path: str, claims: dict[str, Any]) -> None:
    caller = await verifier(roles_claim=path).verify(PROVIDER.token(**claims))
    assert caller.roles == {Role.READER}


@pytest.mark.parametrize("roles", [None, 7, {"reader": True}, [["reader"]]])
async def test_roles_of_another_form_are_none(roles: Any) -> None:
    assert (await verifier().verify(PROVIDER.token(roles=roles))).roles == frozenset()


async def test_a_rotated_key_is_fetched_once_and_withdrawn_ones_end() -> None:
    provider, clock = Provider(), Clock()
    checks = verifier(provider, clock)
    old = provider.token("reader")
    await checks.verify(old)
    provider.rotate("k2", withdraw=True)
    clock.now += RETRY_SECONDS
    await asyncio.gather(*(checks.verify(provider.token("reader")) for _ in range(5)))
    assert provider.reads == 2
    with pytest.raises(Unauthenticated):
        await checks.verify(old)


async def test_unknown_key_ids_do_not_hammer_the_provider() -> None:
    provider, clock = Provider(), Clock()
    checks = verifier(provider, clock)
    await checks.verify(provider.token("reader"))
    for number in range(20):
        with pytest.raises(Unauthenticated):
            await checks.verify(provider.token("reader", header={"kid": f"x{number}"}))
    assert provider.reads == 1


async def test_known_keys_go_on_while_the_provider_is_down() -> None:
    provider, clock = Provider(), Clock()
    keys = Keys(provider, clock)
    await keys.check()
    provider.down = True
    clock.now += LIFESPAN_SECONDS + 1
    assert await keys.get("k1") is not None
    async with asyncio.timeout(10):
        while provider.reads < 2:
            await asyncio.sleep(0.001)
    assert await keys.get("k1") is not None


async def test_without_any_key_set_nobody_is_judged() -> None:
    provider = Provider(down=True)
    with pytest.raises(Unavailable):
        await verifier(provider).verify(PROVIDER.token("reader"))
    with pytest.raises(Unavailable):
        await Keys(provider, Clock()).check()


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{}", b'{"keys": []}', b'{"keys": [{"kty": "oct", "k": "AA", "kid": "s"}]}']
)
def test_key_sets_that_hold_nothing_usable(body: bytes) -> None:
    with pytest.raises(ValueError, match=r".*"):
        read_key_set(body)


async def test_a_key_set_over_http_is_read() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        body = PROVIDER.key_set()
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body))
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        assert await Keys(KeyUrl(f"http://127.0.0.1:{port}/jwks")).get("k1") is not None


METHOD = "/radref.api.gateway.v1.GatewayService/Generate"


async def test_default_deny() -> None:
    control = AccessControl(verifier(), {METHOD: frozenset({Role.READER})})
    token = f"Bearer {PROVIDER.token('reader')}"
    assert (await control.authorise(METHOD, token)).subject == "dr.ivanova"
    await control.authorise("/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", token)
    for method in ("/radref.api.gateway.v1.GatewayService/New", "", "/grpc.reflectionX"):
        with pytest.raises(PermissionDenied) as denied:
            await control.authorise(method, token)
        assert denied.value.reason == "ROLE_REQUIRED"
    with pytest.raises(PermissionDenied):
        await control.authorise(METHOD, f"Bearer {PROVIDER.token('curator')}")


@pytest.mark.parametrize("header", [None, "", "Bearer", "Bearer ", "Basic dXNlcg==", "token"])
async def test_no_token(header: str | None) -> None:
    control = AccessControl(verifier(), {})
    with pytest.raises(Unauthenticated) as caught:
        await control.authorise(METHOD, header)
    assert caught.value.reason == "TOKEN_MISSING"


def test_callers_are_counted_apart() -> None:
    limit = RateLimit(3)
    for _ in range(3):
        limit.take("a")
    with pytest.raises(Overloaded) as caught:
        limit.take("a")
    assert caught.value.reason == "RATE_LIMITED"
    assert 1 <= (caught.value.retry_after or 0) <= 60
    limit.take("b")


@pytest.mark.parametrize(
    "values",
    [
        {"issuer": ISSUER, "audience": AUDIENCE},
        {"issuer": ISSUER, "jwks_url": "https://idp.example/jwks"},
        {"issuer": ISSUER, "audience": AUDIENCE, "jwks_url": "http://idp.example/jwks"},
        {"issuer": ISSUER, "audience": AUDIENCE, "jwks_url": "file:///etc/passwd"},
        {"issuer": ISSUER, "audience": AUDIENCE, "jwks_url": "https://a/", "jwks_file": "keys.json"},
        {"issuer": ISSUER, "audience": AUDIENCE, "jwks_url": "https://a/", "algorithms": ["HS256"]},
        {"issuer": ISSUER, "audience": AUDIENCE, "jwks_url": "https://a/", "algorithms": ["none"]},
        {"issuer": ISSUER, "audience": AUDIENCE, "jwks_url": "https://a/", "algorithms": []},
    ],
)
def test_settings_that_would_check_nothing_are_refused(values: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r".*"):
        AccessSettings(mode="jwt", **values)
