"""The data directory of an embedded index: one owner, one description, collections side by side.

lock                  held by the process that owns the directory
index.json            format version and IndexIdentity, replaced atomically
catalogue/ parents/   shards without vectors
collections/<topic>/  one shard a topic
"""

from __future__ import annotations

import fcntl
import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import IO

from radref.errors import PreconditionFailed
from retrieval_svc.model import IndexIdentity

# Raise it when the layout or the payloads change so that older code must not read them.
FORMAT_VERSION = 1

# Suffixes of directories beside a shard; a leftover of either is dealt with when the shard is opened.
BUILDING = ".building-"
REPLACED = ".replaced"


class DataDirectory:
    """An exclusively held data directory.

    The lock is the kernel's, so it ends with the process however that ends.

    Raises:
        PreconditionFailed: another process holds the directory (INVALID_STATE).
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir(parents=True, exist_ok=True)
        self._lock = _locked(root / "lock")

    @property
    def catalogue(self) -> Path:
        return self.root / "catalogue"

    @property
    def parents(self) -> Path:
        return self.root / "parents"

    def collection(self, topic: str) -> Path:
        return self.root / "collections" / topic

    def collections(self) -> set[str]:
        """Topics that have a shard on disk."""
        root = self.root / "collections"
        return {shard_name(path) for path in root.iterdir()} - {""} if root.exists() else set()

    def read(self) -> IndexIdentity | None:
        """What the index was built with; None while nothing was ever staged.

        Raises:
            PreconditionFailed: unreadable, or of another format version (INVALID_STATE).
        """
        path = self.root / "index.json"
        try:
            value = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as exc:
            raise PreconditionFailed(
                "the index description index.json cannot be read; restore the data directory from a backup"
            ) from exc
        if value.get("format_version") != FORMAT_VERSION:
            raise PreconditionFailed(
                f"the index has format {value.get('format_version')}, this release reads {FORMAT_VERSION}: "
                "start with an empty data directory and index the documents again"
            )
        return IndexIdentity(**value["identity"])

    def write(self, identity: IndexIdentity) -> None:
        """Replaces the description: after a crash either the old or the new one is there."""
        value = {"format_version": FORMAT_VERSION, "identity": asdict(identity)}
        temporary = self.root / "index.json.new"
        with temporary.open("w", encoding="utf-8") as file:
            json.dump(value, file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(self.root / "index.json")
        sync_directory(self.root)

    def release(self) -> None:
        self._lock.close()


def shard_name(path: Path) -> str:
    """Name of the shard that a directory belongs to; empty for what a crash left half built."""
    return "" if BUILDING in path.name else path.name.removesuffix(REPLACED)


def sync_directory(path: Path) -> None:
    """Makes renames inside a directory survive a power failure."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _locked(path: Path) -> IO[str]:
    file = path.open("a+", encoding="ascii")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.seek(0)
        owner = file.read().strip() or "unknown"
        file.close()
        raise PreconditionFailed(
            f"the data directory {path.parent} is in use by another process (pid {owner})"
        ) from None
    file.seek(0)
    file.truncate()
    file.write(str(os.getpid()))
    file.flush()
    return file
