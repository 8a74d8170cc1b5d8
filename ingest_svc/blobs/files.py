"""Blobs as files, for a service that runs as one process."""

from __future__ import annotations

import asyncio
import hashlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

from ingest_svc.blobs.incoming import IncomingFile, disk_errors
from radref.errors import Internal

_TEMPORARY_SUFFIX = ".part"


class FileBlobs:
    """Blobs under `<root>/<first two digits>/<sha256>`."""

    def __init__(self, root: Path) -> None:
        """Creates the folder, and clears away uploads that a crash cut off.

        One process owns the folder: the service holds a lock on its data directory.
        """
        self._root = root
        self._incoming = root / "incoming"
        self._incoming.mkdir(parents=True, exist_ok=True)
        for leftover in self._incoming.glob(f"*{_TEMPORARY_SUFFIX}"):
            leftover.unlink()

    def new_blob(self) -> FileBlobWriter:
        """A writer; see `Blobs.new_blob`."""
        with disk_errors():
            return FileBlobWriter(self._incoming, self._path)

    async def read(self, sha256: str) -> bytes:
        """The bytes; see `Blobs.read`."""
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


class FileBlobWriter:
    """Takes the bytes of one upload into a temporary file, and moves it; see `BlobWriter`."""

    def __init__(self, incoming: Path, path_of: Callable[[str], Path]) -> None:
        """
        Args:
            incoming: folder of unfinished uploads, on the disk of the finished ones.
            path_of: where the bytes with a hash are kept.
        """
        self._path_of = path_of
        descriptor, name = tempfile.mkstemp(suffix=_TEMPORARY_SUFFIX, dir=incoming)
        self._temporary: Path | None = Path(name)
        self._bytes = IncomingFile(os.fdopen(descriptor, "w+b"))

    @property
    def size(self) -> int:
        """Bytes taken so far."""
        return self._bytes.size

    @property
    def sha256(self) -> str:
        """Of the bytes so far, 64 hexadecimal digits."""
        return self._bytes.sha256

    async def write(self, data: bytes) -> None:
        """Appends bytes; see `BlobWriter.write`."""
        await self._bytes.append(data)

    async def content(self) -> bytes:
        """The bytes so far; see `BlobWriter.content`."""
        return await self._bytes.content()

    async def keep(self) -> None:
        """Puts the bytes in their place, synced to disk; see `BlobWriter.keep`."""
        with disk_errors():
            await asyncio.to_thread(self._keep)

    def _keep(self) -> None:
        if self._temporary is None:
            return
        self._bytes.file.flush()
        os.fsync(self._bytes.file.fileno())
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
        try:
            self._bytes.file.close()
        finally:
            if self._temporary is not None:
                self._temporary.unlink(missing_ok=True)
                self._temporary = None


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
