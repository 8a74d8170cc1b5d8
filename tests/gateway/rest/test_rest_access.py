"""Tokens, roles and rates at the REST facade: the same guard as before gRPC."""

from __future__ import annotations

from gateway.access_rules import ACCESS_RULES
from radref.service.access.rate_limit import RateLimit
from radref.service.admission import Admission
from radref.service.guard import Guard
from tests.gateway.rest.fake_desk import CITED, FakeDesk
from tests.gateway.rest.rest_client import BODY, client
from tests.service.access_issuer import Issuer, access_with

ROUTES = ("search", "prompt", "generate", "generate:stream", "consult")
ISSUER = Issuer()


def guard(rate_limit: RateLimit | None = None) -> Guard:
    return Guard(
        admission=Admission(8, 8), access=access_with(ISSUER.jwks, ACCESS_RULES), rate_limit=rate_limit
    )


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


async def test_every_route_wants_a_good_token() -> None:
    bad = {
        "": ("TOKEN_MISSING", 401),
        ISSUER.token(exp=1): ("TOKEN_EXPIRED", 401),
        ISSUER.token(aud="portal"): ("TOKEN_INVALID", 401),
        ISSUER.unsigned(): ("TOKEN_INVALID", 401),
        ISSUER.token(roles=[]): ("ROLE_REQUIRED", 403),
    }
    async with client(FakeDesk(), guard()) as http:
        for token, (reason, status) in bad.items():
            headers = bearer(token) if token else {}
            answers = [await http.post(f"/v1/{route}", json=BODY, headers=headers) for route in ROUTES]
            answers.append(await http.get(f"/v1/sources/{CITED}", headers=headers))
            for answer in answers:
                assert (answer.status_code, answer.json()["reason"]) == (status, reason)
                assert ("www-authenticate" in answer.headers) == (status == 401)


async def test_a_reader_may_ask() -> None:
    async with client(FakeDesk(), guard()) as http:
        headers = bearer(ISSUER.token())
        for route in ("search", "prompt", "generate", "generate:stream"):
            assert (await http.post(f"/v1/{route}", json=BODY, headers=headers)).status_code == 200
        assert (await http.get(f"/v1/sources/{CITED}", headers=headers)).status_code == 200


async def test_one_caller_too_fast_stops_no_other() -> None:
    async with client(FakeDesk(), guard(RateLimit(1, 2))) as http:
        mine, other = bearer(ISSUER.token()), bearer(ISSUER.token(sub="dr.petrov"))
        answers = [await http.post("/v1/search", json=BODY, headers=mine) for _ in range(3)]
        assert [answer.status_code for answer in answers] == [200, 200, 429]
        assert answers[-1].json()["reason"] == "RATE_LIMITED"
        assert int(answers[-1].headers["retry-after"]) >= 1
        assert (await http.post("/v1/search", json=BODY, headers=other)).status_code == 200
