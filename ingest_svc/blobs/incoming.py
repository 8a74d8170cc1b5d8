"""The bytes of an upload until it is complete: a file on disk, with its size and hash."""

from __future__ import annotations

import asyncio
import errno
import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

from radref.errors import Unavailable


class IncomingFile:
    """Bytes taken so far.

    Attributes:
        file: open for reading and writing; the caller's to close.
        size: bytes.
    """

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self.size = 0
        self._hash = hashlib.sha256()

    @property
    def sha256(self) -> str:
        """Of the bytes so far, 64 hexadecimal digits."""
        return self._hash.hexdigest()

    async def append(self, data: bytes) -> None:
        """Appends bytes.

        Raises:
            Unavailable: BACKEND_UNAVAILABLE, the disk is full or broken.
        """
        self.size += len(data)
        with disk_errors():
            await asyncio.to_thread(self._append, data)

    def _append(self, data: bytes) -> None:
        self._hash.update(data)
        self.file.write(data)

    async def content(self) -> bytes:
        """The bytes so far; raises as `append`."""
        with disk_errors():
            return await asyncio.to_thread(self._content)

    def _content(self) -> bytes:
        self.file.seek(0)
        return self.file.read()


@contextmanager
def disk_errors() -> Iterator[None]:
    """Turns errors of the disk into Unavailable, without paths."""
    try:
        yield
    except OSError as exc:
        raise Unavailable(
            "The service cannot write to its data folder.",
            metadata={"cause": errno.errorcode.get(exc.errno or 0, "unknown")},
        ) from exc
