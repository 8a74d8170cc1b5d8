"""Uploaded bytes on disk, named by their SHA-256, written once and never changed."""

from __future__ import annotations

import asyncio
import errno
import hashlib
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from radref.errors import Internal, Unavailable

_TEMPORARY_SUFFIX = ".part"


class BlobStore:
    """Blobs under `<root>/<first two digits>/<sha256>`; a blob is there completely or not at all."""

    def __init__(self, root: Path) -> None:
        """Creates the folder, and clears away uploads that a crash cut off.

        One process owns the folder: the service holds a lock on its data directory.
        """
        self._root = root
        self._incoming = root / "incoming"
        self._incoming.mkdir(parents=True, exist_ok=True)
        for leftover in self._incoming.glob(f"*{_TEMPORARY_SUFFIX}"):
            leftover.unlink()

    def new_blob(self) -> BlobWriter:
        """A context manager that takes bytes; without `keep` they are gone when it ends."""
        return BlobWriter(self._incoming, self._path)

    async def read(self, sha256: str) -> bytes:
        """The bytes.

        Raises:
            Internal: they are missing or no longer match their hash.
        """
        return await asyncio.to_thread(self._read, sha256)

    def _read(self, sha256: str) -> bytes:
        try:
            data = self._path(sha256).read_bytes()
        except FileNotFoundError:
            raise Internal("The stored file is missing; submit it again.") from None
        if hashlib.sha256(data).hexdigest() != sha256:
            raise Internal("The stored file is damaged; submit it again.")
        return data

    def _path(self, sha256: str) -> Path:
        return self._root / sha256[:2] / sha256


class BlobWriter:
    """Takes the bytes of one upload into a temporary file.

    Attributes:
        size: bytes taken so far.
    """

    def __init__(self, incoming: Path, path_of: Callable[[str], Path]) -> None:
        self._path_of = path_of
        self._hash = hashlib.sha256()
        self.size = 0
        descriptor, name = tempfile.mkstemp(suffix=_TEMPORARY_SUFFIX, dir=incoming)
        self._temporary: Path | None = Path(name)
        self._file: BinaryIO = os.fdopen(descriptor, "wb")

    async def write(self, data: bytes) -> None:
        """Appends bytes.

        Raises:
            Unavailable: BACKEND_UNAVAILABLE, the disk is full or broken.
        """
        self.size += len(data)
        with _disk_errors():
            await asyncio.to_thread(self._write, data)

    def _write(self, data: bytes) -> None:
        self._hash.update(data)
        self._file.write(data)

    @property
    def sha256(self) -> str:
        """Of the bytes so far, 64 hexadecimal digits."""
        return self._hash.hexdigest()

    async def content(self) -> bytes:
        """The bytes so far, for a file that is not kept."""
        return await asyncio.to_thread(self._content)

    def _content(self) -> bytes:
        self._file.flush()
        assert self._temporary is not None
        return self._temporary.read_bytes()

    async def keep(self) -> None:
        """Puts the bytes in their place, synced to disk. The same bytes again are fine; raises as `write`."""
        with _disk_errors():
            await asyncio.to_thread(self._keep)

    def _keep(self) -> None:
        if self._temporary is None:
            return
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        target = self._path_of(self.sha256)
        target.parent.mkdir(exist_ok=True)
        os.replace(self._temporary, target)
        self._temporary = None
        # The names themselves must survive a power cut, not only the content.
        _sync_folder(target.parent)
        _sync_folder(target.parent.parent)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # Not in a thread: a cancelled upload would leave before the file is gone.
        self._file.close()
        if self._temporary is not None:
            self._temporary.unlink(missing_ok=True)
            self._temporary = None


@contextmanager
def _disk_errors() -> Iterator[None]:
    try:
        yield
    except OSError as exc:
        raise Unavailable(
            "The service cannot write to its data folder.",
            metadata={"cause": errno.errorcode.get(exc.errno or 0, "unknown")},
        ) from exc


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
