"""The service's folder on disk, owned by one process at a time."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import Self

from radref.errors import PreconditionFailed


class DataDir:
    """The data folder, with a lock that the kernel drops when the process dies.

    With SQLite it holds the registry and the blobs; with PostgreSQL only uploads on their way in, and may be
    empty at every start.
    """

    def __init__(self, root: Path, *, exclusive: bool = True) -> None:
        """Creates the folder and takes it.

        Args:
            exclusive: no other process may have it at the same time; False where nothing lasting is kept in
                it (`Database.shared`).

        Raises:
            PreconditionFailed: INVALID_STATE, another process has it; two would run every job twice.
        """
        self.root = root
        self._descriptor: int | None = None
        # Nobody else reads uploads: they may be licensed or confidential.
        root.mkdir(parents=True, exist_ok=True, mode=0o700)
        if exclusive:
            self._descriptor = self._take()
        self.incoming.mkdir(exist_ok=True, mode=0o700)

    def _take(self) -> int:
        descriptor = os.open(self.root / "ingest.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            raise PreconditionFailed(
                f"Another ingest service uses the data folder {self.root}; stop it or choose another folder."
            ) from None
        return descriptor

    @property
    def registry_url(self) -> str:
        """SQLAlchemy URL of the registry on SQLite."""
        return f"sqlite:///{self.root / 'registry.sqlite3'}"

    @property
    def blobs(self) -> Path:
        """Folder of uploaded bytes where they are files."""
        return self.root / "blobs"

    @property
    def incoming(self) -> Path:
        """Existing folder of uploads that go into the database."""
        return self.root / "incoming"

    def release(self) -> None:
        """Lets another process take the folder."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()
