"""The source watch over real folders, a real registry and a web site on the loopback."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from ingest_svc.metadata import DocumentMetadata
from ingest_svc.registry import audit, watched_files
from ingest_svc.registry.database import Database
from ingest_svc.registry.migrate import upgrade
from ingest_svc.registry.watched_files import WatchedFile
from ingest_svc.source_watch.addresses import AddressRules
from ingest_svc.source_watch.deposit import Deposited
from ingest_svc.source_watch.model import Content, Source
from ingest_svc.source_watch.watch import SourceWatch
from ingest_svc.source_watch.web import Web
from radref.errors import PreconditionFailed, RadrefError
from tests.ingest.source_watch.web_site import Page, Site

SAFETY = DocumentMetadata(topic="safety")


@dataclass
class RecordingDeposit:
    """Keeps what is put; the same bytes are a duplicate of the document that has them."""

    held: dict[bytes, str] = field(default_factory=dict)
    put_: list[tuple[str, bytes, str, str, bool]] = field(default_factory=list)
    refusal: RadrefError | None = None

    async def put(
        self, document_id: str, content: Content, metadata: DocumentMetadata, *, actor: str, trusted: bool
    ) -> Deposited:
        if self.refusal:
            raise self.refusal
        content.file_name.encode()
        self.put_.append((document_id, content.data, metadata.source, actor, trusted))
        if content.data in self.held:
            return Deposited(self.held[content.data], 1, duplicate=True)
        self.held[content.data] = document_id
        return Deposited(document_id, 1, duplicate=False)


@dataclass
class Bench:
    database: Database
    web: Web
    folder: Path
    deposit: RecordingDeposit = field(default_factory=RecordingDeposit)
    clock: datetime = field(default_factory=lambda: datetime.now(UTC) + timedelta(hours=1))
    locked: list[str] = field(default_factory=list)

    def watch(self, *urls: str, folder: bool = True) -> SourceWatch:
        source = Source("acts", self.folder if folder else None, urls, SAFETY, trusted=False)
        return SourceWatch(
            database=self.database,
            sources=[source],
            web=self.web,
            deposit=self.deposit,
            exclusive=self._exclusive,
            max_bytes=1000,
            now=lambda: self.clock,
        )

    @asynccontextmanager
    async def _exclusive(self, name: str) -> AsyncIterator[None]:
        self.locked.append(name)
        yield

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    async def rows(self) -> list[WatchedFile]:
        return await self.database.read(watched_files.list_watched)

    async def actions(self) -> list[tuple[str, str]]:
        events, _ = await self.database.read(
            lambda session: audit.list_events(session, document_id="", limit=100, before=None)
        )
        return [(event.actor, event.action) for event in events]


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    database = Database(f"sqlite:///{tmp_path / 'registry.sqlite3'}")
    upgrade(database.engine)
    folder = tmp_path / "acts"
    folder.mkdir()
    async with Web(AddressRules(["localhost"], only_public=False), timeout=5.0, max_bytes=1000) as web:
        yield Bench(database, web, folder)
    database.close()


async def test_new_files_come_in_and_unchanged_ones_do_not_again(bench: Bench) -> None:
    bench.write("sub/НРБ.txt", "предел")
    bench.write("a.md", "# a")
    bench.write("~$a.docx", "lock")
    bench.write(".hidden", "x")
    bench.write("b.pdf.part", "x")
    watch = bench.watch()
    counts = await watch.check()
    assert (counts.looked, counts.new_versions) == (2, 2)
    assert {data.decode() for _, data, *_ in bench.deposit.put_} == {"предел", "# a"}
    assert {(actor, trusted) for *_, actor, trusted in bench.deposit.put_} == {("source-watch:acts", False)}
    assert len({document_id for document_id, *_ in bench.deposit.put_}) == 2
    assert bench.locked == ["source-watch acts"]
    assert (await watch.check()).new_versions == 0
    assert len(bench.deposit.put_) == 2


async def test_a_changed_file_is_a_new_version_of_its_document(bench: Bench) -> None:
    path = bench.write("a.txt", "one")
    watch = bench.watch()
    await watch.check()
    path.write_text("three")
    assert (await watch.check()).new_versions == 1
    first, second = bench.deposit.put_
    assert first[0] == second[0]
    os.utime(path, (1, 1))
    assert (await watch.check()).new_versions == 0


async def test_a_file_that_is_still_being_written_waits(bench: Bench) -> None:
    bench.write("a.txt", "half")
    bench.clock = datetime.now(UTC)
    await bench.watch().check()
    assert not bench.deposit.put_
    assert not await bench.rows()


async def test_what_vanishes_is_flagged_once_and_comes_back(bench: Bench) -> None:
    path = bench.write("a.txt", "one")
    bench.write("b.txt", "two")
    watch = bench.watch()
    await watch.check()
    path.unlink()
    assert (await watch.check()).vanished == 1
    assert (await watch.check()).vanished == 0
    document_id = bench.deposit.put_[0][0]
    since = await bench.database.read(lambda session: watched_files.vanished_since(session, [document_id]))
    assert since == {document_id: bench.clock}
    assert await bench.actions() == [("source-watch:acts", "vanished")]
    troubled = await bench.database.read(
        lambda session: watched_files.list_watched(session, only_troubled=True)
    )
    assert [Path(row.location).name for row in troubled] == ["a.txt"]
    bench.write("a.txt", "one")
    await watch.check()
    assert len(bench.deposit.put_) == 2
    assert all(row.vanished_at is None for row in await bench.rows())


@pytest.mark.parametrize("how", ["missing", "empty"])
async def test_an_unmounted_folder_makes_nothing_vanish(bench: Bench, how: str) -> None:
    bench.write("a.txt", "one")
    watch = bench.watch()
    await watch.check()
    (bench.folder / "a.txt").unlink()
    if how == "missing":
        bench.folder.rmdir()
    counts = await watch.check()
    assert (counts.vanished, counts.failed) == (0, 1)
    assert "is it mounted?" in (await bench.rows())[0].failure
    bench.write("a.txt", "one")
    await watch.check()
    assert [row.failure for row in await bench.rows()] == [""]


async def test_a_folder_that_was_never_there_is_named_until_it_is(bench: Bench) -> None:
    bench.folder.rmdir()
    watch = bench.watch()
    await watch.check()
    assert [(row.location, bool(row.failure)) for row in await bench.rows()] == [(str(bench.folder), True)]
    bench.write("a.txt", "one")
    await watch.check()
    assert not any(row.failure for row in await bench.rows())


async def test_a_web_page_is_asked_conditionally_and_flagged_when_gone(bench: Bench, site: Site) -> None:
    site.pages["/act"] = Page(b"one", headers={"ETag": '"1"', "Content-Type": "text/html"})
    watch = bench.watch(site.url("/act"), folder=False)
    await watch.check()
    await watch.check()
    assert site.requests[1][1]["if-none-match"] == '"1"'
    site.pages["/act"] = Page(b"two", headers={"ETag": '"2"'})
    assert (await watch.check()).new_versions == 1
    assert [source for _, _, source, *_ in bench.deposit.put_] == [site.url("/act")] * 2
    del site.pages["/act"]
    assert (await watch.check()).vanished == 1
    # Back again with its old validators: found, and nothing is taken in twice.
    site.pages["/act"] = Page(b"two", headers={"ETag": '"2"'})
    await watch.check()
    assert [(row.vanished_at, row.failure) for row in await bench.rows()] == [(None, "")]
    assert len(bench.deposit.put_) == 2


async def test_one_failure_does_not_stop_the_others_and_is_tried_again(bench: Bench, site: Site) -> None:
    site.pages["/down"] = Page(status=500)
    site.pages["/up"] = Page(b"up")
    watch = bench.watch(site.url("/down"), "http://evil.example/", site.url("/up"), folder=False)
    counts = await watch.check()
    assert (counts.failed, counts.new_versions) == (2, 1)
    site.pages["/down"] = Page(b"down")
    assert (await watch.check()).new_versions == 1
    assert [row.location for row in await bench.rows() if row.failure] == ["http://evil.example/"]


async def test_a_refused_content_is_offered_again_even_if_the_server_says_unchanged(
    bench: Bench, site: Site
) -> None:
    site.pages["/act"] = Page(b"one", headers={"ETag": '"1"'})
    watch = bench.watch(site.url("/act"), folder=False)
    bench.deposit.refusal = PreconditionFailed("Document act is withdrawn.")
    assert (await watch.check()).failed == 1
    assert (await bench.rows())[0].failure == "Document act is withdrawn."
    bench.deposit.refusal = None
    assert (await watch.check()).new_versions == 1


async def test_the_same_bytes_elsewhere_belong_to_the_document_that_has_them(bench: Bench) -> None:
    bench.write("a.txt", "one")
    bench.write("b.txt", "one")
    counts = await bench.watch().check()
    assert counts.new_versions == 1
    assert len({row.document_id for row in await bench.rows()}) == 1
    (bench.folder / "a.txt").unlink()
    await bench.watch().check()
    document_id = (await bench.rows())[0].document_id
    assert (
        await bench.database.read(lambda session: watched_files.vanished_since(session, [document_id])) == {}
    )


async def test_names_that_are_not_utf_8(bench: Bench) -> None:
    bench.write(os.fsdecode(b"\xcf\xf0\xe8.txt"), "text")
    assert (await bench.watch().check()).new_versions == 1
    assert (await bench.watch().check()).new_versions == 0
