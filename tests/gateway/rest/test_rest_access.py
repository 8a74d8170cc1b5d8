"""Tokens, roles and rates at the REST facade: the same guard as before gRPC."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateway.access_rules import RULES
from radref.service.access.compose import compose_access
from radref.service.admission import Admission
from radref.service.guard import Guard
from tests.gateway.rest.fake_desk import CITED, FakeDesk
from tests.gateway.rest.rest_client import BODY, client
from tests.service.access.token_kit import Provider, settings

ROUTES = ("search", "prompt", "generate", "generate:stream", "consult")


@pytest.fixture(scope="module")
def provider() -> Provider:
    return Provider()


def guard(provider: Provider, folder: Path, **more: object) -> Guard:
    (folder / "jwks.json").write_bytes(provider.key_set())
    access = compose_access(settings(folder / "jwks.json", **more), RULES)
    return Guard(Admission(8, 8), access)


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


async def test_every_route_wants_a_good_token(provider: Provider, tmp_path: Path) -> None:
    bad = {
        "": ("TOKEN_MISSING", 401),
        provider.token("reader", exp=1): ("TOKEN_EXPIRED", 401),
        provider.token("reader", aud="portal"): ("TOKEN_INVALID", 401),
        provider.unsigned("reader"): ("TOKEN_INVALID", 401),
        provider.token(): ("ROLE_REQUIRED", 403),
    }
    async with client(FakeDesk(), guard(provider, tmp_path)) as http:
        for token, (reason, status) in bad.items():
            headers = bearer(token) if token else {}
            answers = [await http.post(f"/v1/{route}", json=BODY, headers=headers) for route in ROUTES]
            answers.append(await http.get(f"/v1/sources/{CITED}", headers=headers))
            for answer in answers:
                assert (answer.status_code, answer.json()["reason"]) == (status, reason)
                assert ("www-authenticate" in answer.headers) == (status == 401)


async def test_a_reader_may_ask(provider: Provider, tmp_path: Path) -> None:
    async with client(FakeDesk(), guard(provider, tmp_path)) as http:
        headers = bearer(provider.token("reader"))
        for route in ("search", "prompt", "generate", "generate:stream"):
            assert (await http.post(f"/v1/{route}", json=BODY, headers=headers)).status_code == 200
        assert (await http.get(f"/v1/sources/{CITED}", headers=headers)).status_code == 200


async def test_one_caller_too_fast_stops_no_other(provider: Provider, tmp_path: Path) -> None:
    async with client(FakeDesk(), guard(provider, tmp_path, calls_per_minute=2)) as http:
        mine, other = bearer(provider.token("reader")), bearer(provider.token("reader", sub="dr.petrov"))
        answers = [await http.post("/v1/search", json=BODY, headers=mine) for _ in range(3)]
        assert [answer.status_code for answer in answers] == [200, 200, 429]
        assert answers[-1].json()["reason"] == "RATE_LIMITED"
        assert int(answers[-1].headers["retry-after"]) >= 1
        assert (await http.post("/v1/search", json=BODY, headers=other)).status_code == 200
