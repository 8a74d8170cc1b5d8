"""Files and SQLite databases of a backup: copied, hashed, looked at again, whatever is in them."""

from __future__ import annotations

import fcntl
import hashlib
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from radref.errors import PreconditionFailed

_CHUNK_BYTES = 1 << 20
_BUSY_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class CopiedFile:
    """A file of a backup: path below the data folder, size in bytes, SHA-256 as 64 hexadecimal digits."""

    path: str
    bytes: int
    sha256: str


def copy_file(source: Path, target: Path, path: str) -> CopiedFile:
    """Copies a file that nobody writes to, synced to disk, readable by its owner only.

    What is zeros becomes a hole: the index has files of a fixed size that are mostly holes, and they would
    take half a gigabyte.

    Args:
        target: does not exist yet; its folder is made.
        path: what the result is called.

    Raises:
        OSError: it cannot be read or written.
    """
    make_folder(target.parent)
    digest = hashlib.sha256()
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with source.open("rb") as reader, os.fdopen(descriptor, "wb") as writer:
        while chunk := reader.read(_CHUNK_BYTES):
            digest.update(chunk)
            if chunk.count(0) == len(chunk):
                writer.seek(len(chunk), os.SEEK_CUR)
            else:
                writer.write(chunk)
        size = reader.tell()
        writer.truncate(size)
        writer.flush()
        os.fsync(writer.fileno())
    return CopiedFile(path, size, digest.hexdigest())


def copy_database(source: Path, target: Path, path: str) -> CopiedFile:
    """Copies a SQLite database as it is at one moment, also while others write to it.

    One step of SQLite's online backup: a single read transaction, which in WAL mode keeps no writer waiting
    (https://www.sqlite.org/backup.html). The copy is one file, in the mode of its original: a service that
    had to switch it to WAL could meet its own other connections on the way.

    Raises:
        sqlite3.Error: it cannot be read.
        OSError: the copy cannot be read back.
    """
    make_folder(target.parent)
    target.touch(mode=0o600, exist_ok=False)
    with (
        closing(sqlite3.connect(f"{source.absolute().as_uri()}?mode=ro", uri=True)) as reader,
        closing(sqlite3.connect(target)) as writer,
    ):
        reader.execute(f"PRAGMA busy_timeout = {round(_BUSY_SECONDS * 1000)}")
        reader.backup(writer)
    sync(target)
    return describe(target, path)


def describe(file: Path, path: str) -> CopiedFile:
    """What a file holds now."""
    with file.open("rb") as reader:
        digest = hashlib.file_digest(reader, "sha256").hexdigest()
        return CopiedFile(path, reader.tell(), digest)


def count_rows(database: Path) -> dict[str, int]:
    """Rows of every table of a database that nobody writes to, after SQLite's own integrity check.

    Raises:
        PreconditionFailed: INVALID_STATE, SQLite finds it damaged.
    """
    try:
        with closing(sqlite3.connect(f"{database.absolute().as_uri()}?mode=ro&immutable=1", uri=True)) as db:
            found = [row[0] for row in db.execute("PRAGMA integrity_check")]
            if found != ["ok"]:
                raise PreconditionFailed(f"{database.name} is damaged (integrity_check): {found[0]}")
            names = db.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
            tables = [row[0] for row in names.fetchall()]
            return {name: _rows(db, name) for name in tables}
    except sqlite3.DatabaseError as exc:
        raise PreconditionFailed(f"{database.name} is damaged: {exc}") from None


def _rows(connection: sqlite3.Connection, table: str) -> int:
    quoted = table.replace('"', '""')
    return int(connection.execute(f'SELECT count(*) FROM "{quoted}"').fetchone()[0])


@contextmanager
def held(lock: Path) -> Iterator[bool]:
    """Tries to hold the lock of a service on its folder meanwhile; False = somebody runs there.

    The kernel's lock: it ends with the process.
    """
    descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(descriptor)


def make_folder(folder: Path) -> None:
    """Makes a folder and those above it, for its owner only."""
    for missing in reversed([part for part in (folder, *folder.parents) if not part.exists()]):
        missing.mkdir(mode=0o700)


def sync(path: Path) -> None:
    """Writes a file, or the names in a folder, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
