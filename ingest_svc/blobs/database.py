"""Blobs in the registry's database, where workers on other machines read them."""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from sqlalchemy.orm import Session

from ingest_svc.blobs.incoming import IncomingFile, disk_errors
from ingest_svc.registry import blob_parts
from ingest_svc.registry.database import Database
from radref.errors import Internal

# No message to the database and no row is larger than this.
PART_BYTES = 1 << 20


class DatabaseBlobs:
    """Blobs as rows of 1 MiB."""

    def __init__(self, database: Database, incoming: Path) -> None:
        """
        Args:
            incoming: existing folder for unfinished uploads; their files have no name there, so that nothing
                of them stays whatever happens. Room for all uploads at once is needed.
        """
        self._database = database
        self._incoming = incoming

    def new_blob(self) -> DatabaseBlobWriter:
        """A writer; see `Blobs.new_blob`."""
        with disk_errors():
            return DatabaseBlobWriter(self._database, tempfile.TemporaryFile(dir=self._incoming))

    async def read(self, sha256: str) -> bytes:
        """The bytes; see `Blobs.read`."""
        return await self._database.read(lambda session: _read(session, sha256))


class DatabaseBlobWriter:
    """Takes the bytes of one upload into a temporary file, and copies it in one transaction."""

    def __init__(self, database: Database, file: BinaryIO) -> None:
        """`file`: empty, gone when it is closed."""
        self._database = database
        self._bytes = IncomingFile(file)

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
        """Puts the bytes into the database, committed; see `BlobWriter.keep`."""
        with disk_errors():
            await self._database.write_apart(self._copy)

    def _copy(self, session: Session) -> None:
        sha256, ordinal = self.sha256, 0
        self._bytes.file.seek(0)
        while part := self._bytes.file.read(PART_BYTES):
            blob_parts.put_part(session, sha256, ordinal, part)
            ordinal += 1
        blob_parts.drop_parts_from(session, sha256, ordinal)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bytes.file.close()


def _read(session: Session, sha256: str) -> bytes:
    parts: list[bytes] = []
    while (part := blob_parts.get_part(session, sha256, len(parts))) is not None:
        parts.append(part)
    if not parts:
        raise Internal("The stored file is missing; submit it again.")
    data = b"".join(parts)
    if hashlib.sha256(data).hexdigest() != sha256:
        raise Internal("The stored file is damaged; submit it again.")
    return data
