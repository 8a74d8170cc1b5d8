"""The store of uploaded bytes: one contract for files and for the database, on SQLite and PostgreSQL."""

from __future__ import annotations

import asyncio
import hashlib
import io
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import delete, func, select, update

from ingest_svc.blobs.database import PART_BYTES, DatabaseBlobs
from ingest_svc.blobs.files import FileBlobs
from ingest_svc.blobs.incoming import IncomingFile
from ingest_svc.blobs.ports import Blobs
from ingest_svc.registry.database import Database
from ingest_svc.registry.models import Base, BlobPartRow
from radref.errors import Internal, Unavailable


@dataclass
class Store:
    """A store, and what a test must know of its inside."""

    blobs: Blobs
    folder: Path
    database: Database | None = None

    async def pieces(self) -> int:
        """Files or rows that hold anything."""
        files = sum(path.is_file() for path in self.folder.rglob("*"))
        if self.database is None:
            return files
        rows = await self.database.read(
            lambda session: session.scalar(select(func.count()).select_from(BlobPartRow))
        )
        return files + (rows or 0)

    async def damage(self, sha256: str) -> None:
        """Changes the bytes that are stored."""
        if self.database is None:
            (self.folder / sha256[:2] / sha256).write_bytes(b"other")
            return
        await self.database.write(lambda session: session.execute(update(BlobPartRow).values(data=b"other")))


@pytest.fixture(params=["files", "sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    folder = tmp_path / "blobs"
    folder.mkdir()
    if request.param == "files":
        yield Store(FileBlobs(folder), folder)
        return
    if request.param == "postgresql":
        database = Database(request.getfixturevalue("postgres_url"))
    else:
        database = Database(f"sqlite:///{tmp_path / 'r.sqlite3'}")
        Base.metadata.create_all(database.engine, [Base.metadata.tables[BlobPartRow.__tablename__]])
    yield Store(DatabaseBlobs(database, folder), folder, database)
    database.close()


async def keep(store: Store, data: bytes, piece: int = 700_000) -> str:
    async with store.blobs.new_blob() as blob:
        for start in range(0, len(data), piece):
            await blob.write(data[start : start + piece])
        await blob.keep()
        return blob.sha256


async def test_what_was_kept_is_read(store: Store):
    async with store.blobs.new_blob() as blob:
        await blob.write(b"ab")
        await blob.write(b"c")
        assert await blob.content() == b"abc"
        assert (blob.size, blob.sha256) == (3, hashlib.sha256(b"abc").hexdigest())
        await blob.keep()
        await blob.keep()
    assert await keep(store, b"abc") == blob.sha256
    assert await store.blobs.read(blob.sha256) == b"abc"
    assert await store.pieces() == 1


@pytest.mark.parametrize("size", [PART_BYTES - 1, PART_BYTES, PART_BYTES + 1, 2 * PART_BYTES])
async def test_sizes_around_those_of_the_parts(store: Store, size: int):
    data = hashlib.shake_128(b"x").digest(size)
    assert await store.blobs.read(await keep(store, data)) == data


async def test_what_was_not_kept_leaves_nothing(store: Store):
    async with store.blobs.new_blob() as blob:
        await blob.write(b"lost")
    with suppress(RuntimeError):
        async with store.blobs.new_blob() as blob:
            await blob.write(b"cut off")
            raise RuntimeError
    assert await store.pieces() == 0
    with pytest.raises(Internal, match="missing"):
        await store.blobs.read(blob.sha256)


async def test_a_cancelled_upload_leaves_nothing(store: Store):
    started = asyncio.Event()

    async def upload() -> None:
        async with store.blobs.new_blob() as blob:
            await blob.write(b"half")
            started.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(upload())
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await store.pieces() == 0


async def test_damage_is_noticed_and_put_right_by_the_next_upload(store: Store):
    data = b"x" * (PART_BYTES + 5)
    sha256 = await keep(store, data)
    await store.damage(sha256)
    with pytest.raises(Internal, match="damaged"):
        await store.blobs.read(sha256)
    await keep(store, data)
    assert await store.blobs.read(sha256) == data


async def test_the_same_bytes_at_once(store: Store):
    data = b"y" * (2 * PART_BYTES)
    names = await asyncio.gather(*(keep(store, data) for _ in range(3)))
    assert len(set(names)) == 1
    assert await store.blobs.read(names[0]) == data
    assert await store.pieces() == (1 if store.database is None else 2)


async def test_a_lost_part_is_noticed(tmp_path: Path, postgres_url: str):
    database = Database(postgres_url)
    store = Store(DatabaseBlobs(database, tmp_path), tmp_path, database)
    sha256 = await keep(store, b"z" * (3 * PART_BYTES))
    await database.write(lambda session: session.execute(delete(BlobPartRow).where(BlobPartRow.ordinal == 1)))
    with pytest.raises(Internal, match="damaged"):
        await store.blobs.read(sha256)
    database.close()


def test_leftovers_of_a_crash_are_cleared_at_start(tmp_path: Path):
    FileBlobs(tmp_path)
    leftover = tmp_path / "incoming" / "abc.part"
    leftover.write_bytes(b"half")
    FileBlobs(tmp_path)
    assert not leftover.exists()


async def test_a_full_disk_is_told_without_paths():
    with io.FileIO("/dev/full", "r+") as full, pytest.raises(Unavailable, match="cannot write") as caught:
        await IncomingFile(full).append(b"x")
    assert caught.value.metadata == {"cause": "ENOSPC"}


@settings(deadline=None, max_examples=25)
@given(st.lists(st.binary(max_size=9), max_size=6))
def test_hash_and_size_follow_the_pieces(tmp_path_factory: pytest.TempPathFactory, pieces: list[bytes]):
    async def work() -> None:
        folder = tmp_path_factory.mktemp("blobs")
        async with FileBlobs(folder).new_blob() as blob:
            for piece in pieces:
                await blob.write(piece)
            data = b"".join(pieces)
            assert (blob.size, blob.sha256) == (len(data), hashlib.sha256(data).hexdigest())
            assert await blob.content() == data

    asyncio.run(work())
