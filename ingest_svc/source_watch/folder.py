"""Looks at the files of a folder."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from ingest_svc.source_watch.model import Content, Gone, Look, LookFailed, Unchanged, Validators

# Lock files of office programs, and what is still being copied.
_TEMPORARY = ("~$", ".~")
_TEMPORARY_ENDINGS = (".tmp", ".part", ".crdownload", ".partial")


def list_files(folder: Path) -> list[Path]:
    """Regular files below a folder, sorted; hidden and temporary ones and links are left out.

    Raises:
        LookFailed: the folder is not there or cannot be read: an unmounted share is no deleted document.
    """
    if not folder.is_dir():
        raise LookFailed(f"the folder {folder} is not there: is it mounted?")
    try:
        return sorted(_walk(folder))
    except OSError as exc:
        raise LookFailed(f"the folder {folder} cannot be read ({type(exc).__name__})") from None


def look_at_file(path: Path, known: Validators, *, now: float, settle: float, max_bytes: int) -> Look:
    """What a file holds now.

    Args:
        now: seconds since 1970.
        settle: a file changed less than so many seconds ago may still be written: it counts as unchanged.

    Raises:
        LookFailed: it is empty, too big or cannot be read.
    """
    try:
        status = path.stat()
        mark = Validators(last_modified=f"{status.st_mtime_ns}:{status.st_size}")
        if mark == known or now - status.st_mtime < settle:
            return Unchanged()
        if status.st_size > max_bytes:
            raise LookFailed(f"the file is larger than {max_bytes} bytes")
        data = path.read_bytes()
    except FileNotFoundError:
        return Gone()
    except OSError as exc:
        raise LookFailed(f"the file cannot be read ({type(exc).__name__})") from None
    if not data:
        raise LookFailed("the file is empty")
    # A name that is not UTF-8 must not break the registry.
    return Content(data, os.fsencode(path.name).decode("utf-8", "replace"), mark)


def _walk(folder: Path) -> Iterator[Path]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith((".", *_TEMPORARY)) or entry.name.lower().endswith(_TEMPORARY_ENDINGS):
                continue
            mode = entry.stat(follow_symlinks=False).st_mode
            if stat.S_ISDIR(mode):
                yield from _walk(Path(entry.path))
            elif stat.S_ISREG(mode):
                yield Path(entry.path)
