"""Which tokens count and which do not."""

import time
from dataclasses import replace

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from radref.errors import PermissionDenied, Unauthenticated
from radref.service.access.caller import Role
from radref.service.access.jwks import KeySet
from radref.service.access.rules import rules_of
from radref.service.access.settings import AccessSettings
from radref.service.access.tokens import TokenVerifier
from tests.service.access_issuer import RULES, Issuer, access_with

issuer = Issuer()


def verifier(rules=RULES) -> TokenVerifier:
    return TokenVerifier(KeySet(issuer.jwks, max_age=600), rules)


async def reason_of(token: str) -> str:
    with pytest.raises(Unauthenticated) as caught:
        await verifier().verify(token)
    assert token not in caught.value.message
    return caught.value.reason


async def test_a_good_token_names_its_caller() -> None:
    caller = await verifier().verify(issuer.token(roles=["reader", "approver", "owner-of-the-universe"]))
    assert (caller.subject, caller.roles) == ("dr.weber", {Role.READER, Role.APPROVER})


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"exp": int(time.time()) - 3600}, "TOKEN_EXPIRED"),
        ({"exp": None}, "TOKEN_INVALID"),
        ({"iat": None}, "TOKEN_INVALID"),
        ({"iat": int(time.time()) + 3600}, "TOKEN_INVALID"),
        ({"nbf": int(time.time()) + 3600}, "TOKEN_INVALID"),
        ({"aud": "another-service"}, "TOKEN_INVALID"),
        ({"aud": None}, "TOKEN_INVALID"),
        ({"iss": "https://elsewhere.test"}, "TOKEN_INVALID"),
        ({"iss": None}, "TOKEN_INVALID"),
        ({"sub": None}, "TOKEN_INVALID"),
        ({"sub": ""}, "TOKEN_INVALID"),
        ({"sub": " "}, "TOKEN_INVALID"),
        ({"sub": "a\nb"}, "TOKEN_INVALID"),
        ({"sub": "x" * 201}, "TOKEN_INVALID"),
        ({"exp": "tomorrow"}, "TOKEN_INVALID"),
        ({"exp": float("inf")}, "TOKEN_INVALID"),
    ],
)
async def test_claims_that_do_not_count(changes: dict, reason: str) -> None:
    assert await reason_of(issuer.token(**changes)) == reason


async def test_clocks_may_differ_a_little() -> None:
    now = int(time.time())
    await verifier().verify(issuer.token(exp=now - 20, nbf=now + 20, iat=now + 20))
    exact = replace(RULES, clock_skew=0)
    with pytest.raises(Unauthenticated):
        await verifier(exact).verify(issuer.token(exp=now - 20))


async def test_one_of_several_audiences_is_enough() -> None:
    await verifier().verify(issuer.token(aud=["another-service", "radref"]))


async def test_signatures_that_do_not_count() -> None:
    stranger = ec.generate_private_key(ec.SECP256R1())
    good = issuer.token()
    bad = [
        issuer.unsigned(),
        issuer.signed_with_public_key(),
        jwt.encode(issuer.claims(), stranger, "ES256", headers={"kid": issuer.kid}),
        jwt.encode(issuer.claims(), stranger, "ES256", headers={"kid": "unheard-of"}),
        jwt.encode(issuer.claims(), issuer.key, "ES256"),
        jwt.encode(issuer.claims(), "s" * 64, "HS256", headers={"kid": issuer.kid}),
        jwt.encode(
            issuer.claims(), rsa.generate_private_key(65537, 2048), "RS256", headers={"kid": issuer.kid}
        ),
        good[:-4] + "AAAA",
        good.rpartition(".")[0] + ".",
        "no token at all",
        "a.b.c",
        "x" * 10_000,
    ]
    assert {await reason_of(token) for token in bad} == {"TOKEN_INVALID"}


async def test_an_expired_token_with_a_bad_signature_is_not_called_expired() -> None:
    token = jwt.encode(
        issuer.claims(exp=1), ec.generate_private_key(ec.SECP256R1()), "ES256", headers={"kid": issuer.kid}
    )
    assert await reason_of(token) == "TOKEN_INVALID"


async def test_an_algorithm_is_held_to_its_key_even_where_both_are_accepted() -> None:
    wide = replace(RULES, algorithms=("ES256", "RS256", "PS256"))
    key = rsa.generate_private_key(65537, 2048)
    token = jwt.encode(issuer.claims(), key, "RS256", headers={"kid": issuer.kid})
    with pytest.raises(Unauthenticated):
        await verifier(wide).verify(token)


@pytest.mark.parametrize(
    ("claims", "roles"),
    [
        ({"realm_access": {"roles": ["curator"]}}, {Role.CURATOR}),
        ({"realm_access": {"roles": "curator admin"}}, {Role.CURATOR, Role.ADMIN}),
        ({"realm_access": ["curator"]}, set()),
        ({"realm_access": {"roles": [["curator"], 1, None]}}, set()),
        ({"roles": ["admin"]}, set()),
        ({"realm_access": {"roles": {"admin": True}}}, set()),
    ],
)
async def test_roles_are_read_from_the_configured_claim_only(claims: dict, roles: set) -> None:
    nested = replace(RULES, roles_claim=("realm_access", "roles"))
    caller = await verifier(nested).verify(issuer.token(**{"roles": None, **claims}))
    assert caller.roles == roles


async def test_a_method_needs_a_rule_and_the_caller_its_role() -> None:
    access = access_with(issuer.jwks, rules_of("S", {"Read": frozenset({Role.READER})}))
    header = f"Bearer {issuer.token()}"
    assert (await access.authorise("/S/Read", header)).subject == "dr.weber"
    for method, roles in (("/S/New", ["admin", "reader"]), ("/S/Read", ["curator"]), ("/S/Read", [])):
        with pytest.raises(PermissionDenied) as caught:
            await access.authorise(method, f"Bearer {issuer.token(roles=roles)}")
        assert caught.value.reason == "ROLE_REQUIRED"


@pytest.mark.parametrize("header", [None, "", "Bearer", "Bearer ", "Basic eDp5", "token"])
async def test_a_header_without_token_is_a_missing_token(header: str | None) -> None:
    access = access_with(issuer.jwks, {})
    with pytest.raises(Unauthenticated) as caught:
        await access.authorise("/S/Read", header)
    assert caught.value.reason == "TOKEN_MISSING"


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"issuer": "i", "audience": "a"},
        {"issuer": "i", "audience": "a", "jwks_url": "http://keys.example/jwks"},
        {"issuer": "i", "audience": "a", "jwks_url": "https://k/jwks", "jwks_file": "/k"},
        {"issuer": "i", "jwks_file": "/k"},
        {"audience": "a", "jwks_file": "/k"},
        {"issuer": "i", "audience": "a", "jwks_file": "/k", "algorithms": ["HS256"]},
        {"issuer": "i", "audience": "a", "jwks_file": "/k", "algorithms": ["none"]},
        {"issuer": "i", "audience": "a", "jwks_file": "/k", "algorithms": []},
    ],
)
def test_settings_that_would_check_too_little_are_refused(values: dict) -> None:
    with pytest.raises(ValueError, match=r"."):
        AccessSettings(mode="jwt", **values)
