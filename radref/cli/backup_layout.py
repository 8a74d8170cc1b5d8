"""What of a one-machine data folder is backed up, and the list that lies beside the copies."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from radref.cli.backup_files import CopiedFile
from radref.errors import InvalidInput

AUDIT = "gateway/audit.sqlite3"
REGISTRY = "documents/registry.sqlite3"
# In this order: every citation that the audit trail names must be in the registry, every upload that the
# registry names among the blobs. Blobs are written before the registry and never changed or deleted.
DATABASES = (AUDIT, REGISTRY)
BLOBS = "documents/blobs"
INDEX = "index"
# Locks of `radref up` and of the retrieval service.
UP_LOCK, INDEX_LOCK = "up.lock", "index/lock"
MANIFEST = "backup.json"
FORMAT = 1
_BLOB = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a backup holds.

    Attributes:
        created: when it was begun, UTC, ISO 8601.
        radref: release that made it.
        files: all of them.
        rows: by database, rows by table.
        left_out: uploads whose bytes no longer are what was uploaded.
        format: of this file.
    """

    created: str
    radref: str
    files: tuple[CopiedFile, ...]
    rows: dict[str, dict[str, int]]
    left_out: tuple[str, ...] = ()
    format: int = FORMAT

    @property
    def has_index(self) -> bool:
        return any(file.path.startswith(f"{INDEX}/") for file in self.files)

    def write(self, folder: Path) -> None:
        text = json.dumps(asdict(self), indent=1)
        (folder / MANIFEST).write_text(text + "\n", encoding="utf-8")

    @staticmethod
    def read(folder: Path) -> Manifest:
        """
        Raises:
            InvalidInput: INVALID_VALUE, this is no backup, or one of a newer release.
        """
        try:
            told = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
            if told["format"] != FORMAT:
                raise InvalidInput(
                    f"The backup has format {told['format']}, this release reads {FORMAT}: use radref "
                    f"{told['radref']}."
                )
            files = tuple(CopiedFile(**file) for file in told["files"])
            if any(not _is_ours(file.path) for file in files):
                raise InvalidInput(f"{folder / MANIFEST} names files that no backup holds.")
            return Manifest(told["created"], told["radref"], files, told["rows"], tuple(told["left_out"]))
        except (OSError, ValueError, KeyError, TypeError):
            raise InvalidInput(
                f"{folder} is no finished radref backup: {MANIFEST} is missing or damaged."
            ) from None


def blobs_below(data_dir: Path) -> Iterator[str]:
    """Paths of finished uploads; each is named by the SHA-256 of its bytes."""
    for file in sorted((data_dir / BLOBS).glob("??/*")):
        if _BLOB.fullmatch(file.name) and file.parent.name == file.name[:2]:
            yield f"{BLOBS}/{file.parent.name}/{file.name}"


def index_files_below(data_dir: Path) -> Iterator[str]:
    """Paths of the index's files, its lock not."""
    for file in sorted((data_dir / INDEX).rglob("*")):
        path = file.relative_to(data_dir).as_posix()
        if file.is_file() and path != INDEX_LOCK:
            yield path


def _is_ours(path: str) -> bool:
    """Whether a backup may hold it: a list that was tampered with must not write elsewhere."""
    inside = path.startswith((f"{BLOBS}/", f"{INDEX}/")) and ".." not in path.split("/")
    return inside or path in DATABASES
