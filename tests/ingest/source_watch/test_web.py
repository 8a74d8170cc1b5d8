"""Fetching an address: conditional, bounded, and redirects only where the rules allow."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from ingest_svc.source_watch.addresses import AddressRules
from ingest_svc.source_watch.model import Content, Gone, LookFailed, Unchanged, Validators
from ingest_svc.source_watch.web import MAX_REDIRECTS, Web
from tests.ingest.source_watch.web_site import Page, Site


@pytest.fixture
async def web() -> AsyncIterator[Web]:
    async with Web(AddressRules(["localhost"], only_public=False), timeout=5.0, max_bytes=1000) as made:
        yield made


async def test_a_document_with_its_validators(web: Web, site: Site) -> None:
    site.pages["/rules/dose%20limits.pdf?v=2"] = Page(
        b"%PDF", headers={"ETag": '"1"', "Last-Modified": "Mon"}
    )
    found = await web.look(site.url("/rules/dose%20limits.pdf?v=2"), Validators())
    assert found == Content(b"%PDF", "dose limits.pdf", Validators('"1"', "Mon"))
    assert site.requests[0][1]["host"] == f"localhost:{site.port}"
    assert "if-none-match" not in site.requests[0][1]


async def test_an_unchanged_document_is_not_sent_again(web: Web, site: Site) -> None:
    site.pages["/a"] = Page(b"text", headers={"ETag": '"1"'})
    assert isinstance(await web.look(site.url("/a"), Validators('"1"', "Mon")), Unchanged)
    assert site.requests[0][1]["if-modified-since"] == "Mon"


@pytest.mark.parametrize("status", [404, 410])
async def test_what_is_gone(web: Web, site: Site, status: int) -> None:
    site.pages["/a"] = Page(status=status)
    assert isinstance(await web.look(site.url("/a"), Validators()), Gone)


@pytest.mark.parametrize(
    ("path", "kind", "name"),
    [
        ("/", "text/html; charset=utf-8", "localhost.html"),
        ("/act", "application/pdf", "act.pdf"),
        ("/act.php", "text/html", "act.php.html"),
        ("/act.htm", "text/html", "act.htm"),
        ("/%D0%9D%D0%A0%D0%91.txt", "text/plain", "НРБ.txt"),
        ("/a%2Fb%00.txt", "text/plain", "b.txt"),
    ],
)
async def test_file_names(web: Web, site: Site, path: str, kind: str, name: str) -> None:
    site.pages[path] = Page(b"x", headers={"Content-Type": kind})
    found = await web.look(site.url(path), Validators())
    assert isinstance(found, Content)
    assert found.file_name == name


async def test_redirects_stay_on_the_list(web: Web, site: Site) -> None:
    site.pages["/old"] = Page(status=301, headers={"Location": "/new.txt"})
    site.pages["/new.txt"] = Page(b"text")
    found = await web.look(site.url("/old"), Validators())
    assert isinstance(found, Content)
    assert found.file_name == "new.txt"
    for target in ("http://127.0.0.1:1/", "https://evil.example/", "file:///etc/passwd", "//evil.example/a"):
        site.pages["/away"] = Page(status=302, headers={"Location": target})
        with pytest.raises(LookFailed, match=r"not on the list|not allowed"):
            await web.look(site.url("/away"), Validators())


@pytest.mark.parametrize("target", ["http://[", "http://localhost:99999/", "//[::1", "http://localhost/\x7f"])
async def test_a_redirect_to_nowhere_is_a_failure_of_this_address_only(
    web: Web, site: Site, target: str
) -> None:
    site.pages["/away"] = Page(status=302, headers={"Location": target})
    with pytest.raises(LookFailed):
        await web.look(site.url("/away"), Validators())


async def test_a_host_in_another_script_is_asked_in_its_ascii_form(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    async def resolve(host: str, port: int, **_: object) -> list[object]:
        asked.append(host)
        return [(0, 0, 0, "", ("127.0.0.1", port))]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", resolve)
    site.pages["/a.txt"] = Page(b"text")
    async with Web(AddressRules(["закон.рф"], only_public=False), timeout=5.0, max_bytes=1000) as web:
        found = await web.look(site.url("/a.txt", "закон.рф"), Validators())
    assert isinstance(found, Content)
    assert asked == ["xn--80ankme.xn--p1ai"]
    assert site.requests[0][1]["host"] == f"{asked[0]}:{site.port}"


async def test_endless_redirects_end(web: Web, site: Site) -> None:
    site.pages["/loop"] = Page(status=302, headers={"Location": "/loop"})
    with pytest.raises(LookFailed, match="redirects"):
        await web.look(site.url("/loop"), Validators())
    assert len(site.requests) == MAX_REDIRECTS + 1


async def test_answers_that_are_no_document(web: Web, site: Site) -> None:
    site.pages["/big"] = Page(b"x" * 1001)
    site.pages["/empty"] = Page(b"")
    site.pages["/broken"] = Page(status=503)
    site.pages["/odd"] = Page(status=302)
    for path, why in (("/big", "larger"), ("/empty", "empty"), ("/broken", "503"), ("/odd", "302")):
        with pytest.raises(LookFailed, match=why):
            await web.look(site.url(path), Validators())


async def test_a_private_host_is_refused_before_it_is_asked(site: Site) -> None:
    async with Web(AddressRules(["localhost"]), timeout=5.0, max_bytes=1000) as web:
        with pytest.raises(LookFailed, match="private network"):
            await web.look(site.url("/a"), Validators())
    assert not site.requests


async def test_a_host_that_does_not_answer(web: Web, site: Site) -> None:
    with pytest.raises(LookFailed, match="does not answer"):
        await web.look("http://localhost:1/", Validators())
