"""The service's folder on disk, owned by one process at a time."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import Self

from radref.errors import PreconditionFailed


class DataDir:
    """The data folder: registry file, blobs, and a lock that the kernel drops when the process dies."""

    def __init__(self, root: Path) -> None:
        """Creates the folder and takes it.

        Raises:
            PreconditionFailed: INVALID_STATE, another process has it; two would run every job twice.
        """
        self.root = root
        # Nobody else reads uploads: they may be licensed or confidential.
        root.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._descriptor = os.open(root / "ingest.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._descriptor)
            raise PreconditionFailed(
                f"Another ingest service uses the data folder {root}; stop it or choose another folder."
            ) from None

    @property
    def registry_url(self) -> str:
        """SQLAlchemy URL of the registry."""
        return f"sqlite:///{self.root / 'registry.sqlite3'}"

    @property
    def blobs(self) -> Path:
        """Folder of uploaded bytes."""
        return self.root / "blobs"

    def release(self) -> None:
        """Lets another process take the folder."""
        os.close(self._descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()
