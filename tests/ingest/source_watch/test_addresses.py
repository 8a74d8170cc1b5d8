"""Which addresses may be fetched."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ingest_svc.source_watch.addresses import AddressRules
from ingest_svc.source_watch.model import LookFailed

RULES = AddressRules(["www.fda.gov", "Закон.рф"])


@pytest.mark.parametrize(
    "url", ["https://www.fda.gov/a.pdf", "http://WWW.FDA.GOV:8080/", "https://закон.рф/1"]
)
def test_listed_hosts_may_be_asked(url: str) -> None:
    assert RULES.check(url).hostname


@pytest.mark.parametrize(
    "url",
    [
        "ftp://www.fda.gov/a",
        "file:///etc/passwd",
        "gopher://www.fda.gov",
        "//www.fda.gov/a",
        "www.fda.gov/a",
        "",
        "https://fda.gov/a",
        "https://www.fda.gov.evil.example/a",
        "https://evil.example/www.fda.gov",
        "https://www.fda.gov@evil.example/",
        "https://user@www.fda.gov/",
        "https://user:secret@www.fda.gov/",
        "https://www.fda.gov:port/",
        "https://[::1",
        "https://127.0.0.1/",
        "https://www.fda.gov\\@evil.example/",
    ],
)
def test_everything_else_is_refused(url: str) -> None:
    with pytest.raises(LookFailed) as refused:
        RULES.check(url)
    assert "secret" not in str(refused.value)


PRIVATE = [
    "127.0.0.1",
    "10.1.2.3",
    "172.16.0.1",
    "192.168.1.1",
    "169.254.169.254",
    "100.64.0.1",
    "0.0.0.0",
    "224.0.0.1",
    "255.255.255.255",
    "::1",
    "::",
    "fe80::1%eth0",
    "fd00::1",
    "ff02::1",
    "::ffff:10.0.0.1",
    "::ffff:127.0.0.1",
    "2002:0a00:0001::",
]


@pytest.mark.parametrize("addresses", [[one] for one in PRIVATE] + [["93.184.216.34", "10.0.0.1"]])
async def test_names_with_an_inner_address_are_refused(
    addresses: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    name_server(addresses, monkeypatch)
    with pytest.raises(LookFailed, match="private network"):
        await RULES.resolve(RULES.check("https://www.fda.gov/"))


@pytest.mark.parametrize("address", ["93.184.216.34", "2606:2800:220:1:248:1893:25c8:1946"])
async def test_a_public_name_is_asked_at_the_address_that_was_checked(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    name_server([address], monkeypatch)
    assert await RULES.resolve(RULES.check("https://www.fda.gov/")) == address


def name_server(addresses: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    async def resolve(host: str, port: int, **_: Any) -> list[Any]:
        return [(0, 0, 0, "", (address, port)) for address in addresses]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", resolve)
