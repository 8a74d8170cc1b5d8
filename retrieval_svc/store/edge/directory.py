"""The data directory of embedded indexes: one owner, one record of generations, a folder for each.

lock                    held by the process that owns the directory
generations.json        which generation is searched, replaced atomically; absent until there is a second one
index.json ...          the first generation's folder is the data directory itself
generations/<name>/     folders of the others

A generation's folder:

index.json              format version and IndexIdentity, replaced atomically
catalogue/ parents/     shards without vectors
collections/<topic>/    one shard a topic
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

from radref.errors import PreconditionFailed
from retrieval_svc.model import IndexIdentity
from retrieval_svc.store.protocol import GenerationState, RetiredGeneration

# Raise it when the layout or the payloads change so that older code must not read them.
FORMAT_VERSION = 2

# Suffixes of directories beside a shard; a leftover of either is dealt with when the shard is opened.
BUILDING = ".building-"
REPLACED = ".replaced"


class IndexFolder:
    """The folder of one generation."""

    def __init__(self, root: Path) -> None:
        self.root = root

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
        value = _read_json(self.root / "index.json")
        return None if value is None else IndexIdentity(**value["identity"])

    def write(self, identity: IndexIdentity) -> None:
        """Replaces the description: after a crash either the old or the new one is there."""
        self.root.mkdir(parents=True, exist_ok=True)
        _write_json(self.root / "index.json", {"identity": asdict(identity)})

    def delete(self) -> None:
        """Deletes the generation; doing it again, after a crash too, is no error."""
        # The description last: what still has one is deleted again, never taken for an empty index.
        for path in (self.root / "collections", self.parents, self.catalogue):
            shutil.rmtree(path, ignore_errors=True)
            for leftover in path.parent.glob(f"{path.name}.*"):
                shutil.rmtree(leftover, ignore_errors=True)
        (self.root / "index.json").unlink(missing_ok=True)


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

    def folder(self, name: str) -> IndexFolder:
        """Folder of a generation; "" = the first one."""
        return IndexFolder(self.root / "generations" / name if name else self.root)

    def delete(self, name: str) -> None:
        """Deletes a generation's folder."""
        folder = self.folder(name)
        folder.delete()
        if name:
            shutil.rmtree(folder.root, ignore_errors=True)

    def read(self) -> GenerationState:
        """Which generations there are.

        Raises:
            PreconditionFailed: unreadable, or of another format version (INVALID_STATE).
        """
        value = _read_json(self.root / "generations.json")
        if value is None:
            return GenerationState()
        retired = tuple(RetiredGeneration(**one) for one in value.pop("retired"))
        return GenerationState(**value, retired=retired)

    def write(self, state: GenerationState) -> None:
        """Replaces the record: after a crash either the old or the new one is there."""
        _write_json(self.root / "generations.json", asdict(state))

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


def _read_json(path: Path) -> dict[str, Any] | None:
    """The values of a description without its format version; None where there is no such file."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
        version = value.pop("format_version", None)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, AttributeError) as exc:
        raise PreconditionFailed(
            f"the index description {path.name} cannot be read; restore the data directory from a backup"
        ) from exc
    if version != FORMAT_VERSION:
        raise PreconditionFailed(
            f"the index has format {version}, this release reads {FORMAT_VERSION}: move the folder "
            f"{path.parent} away, start again and run 'radref kb verify --repair', which indexes every "
            "document again from what the registry keeps"
        )
    found: dict[str, Any] = value
    return found


def _write_json(path: Path, value: dict[str, Any]) -> None:
    temporary = path.with_name(path.name + ".new")
    with temporary.open("w", encoding="utf-8") as file:
        json.dump({"format_version": FORMAT_VERSION, **value}, file, indent=1)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    sync_directory(path.parent)


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
