"""`radref backup` and `restore`: the data folder of a one-machine installation (docs/operations.md)."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from radref import __version__
from radref.cli.backup_files import (
    CopiedFile,
    copy_database,
    copy_file,
    count_rows,
    describe,
    held,
    make_folder,
    sync,
)
from radref.cli.backup_layout import (
    BLOBS,
    DATABASES,
    INDEX_LOCK,
    MANIFEST,
    REGISTRY,
    UP_LOCK,
    Manifest,
    blobs_below,
    index_files_below,
)
from radref.cli.output import out, problem
from radref.cli.paths import default_data_dir
from radref.errors import InvalidInput, PreconditionFailed


def backup(
    to: Annotated[Path, typer.Option(help="Folder to make; it must not exist.")],
    data_dir: Annotated[Path | None, typer.Option(help="Data folder of `radref up`.")] = None,
    with_index: Annotated[
        bool, typer.Option("--with-index", help="The index too; only while nothing runs there.")
    ] = False,
) -> None:
    """Copy registry, audit trail and uploads of a data folder, also while it is in use, and check the copy.

    Exit code 1 when something is missing from the copy. Not in it: settings, certificates, the key of the
    question hashes.
    """
    source, target = (data_dir or default_data_dir()).absolute(), to.absolute()
    if target.exists():
        raise InvalidInput(f"{target} exists: a backup is a folder of its own, name another --to.")
    if target.is_relative_to(source):
        raise InvalidInput("A backup inside the data folder would be lost with it: name another --to.")
    if not (source / REGISTRY).is_file():
        raise InvalidInput(
            f"{source} holds no {REGISTRY}: name the --data-dir of `radref up`. A registry on PostgreSQL is "
            "backed up with pg_dump (docs/operations.md)."
        )
    unfinished = target.with_name(f"{target.name}.unfinished")
    with _told(), ExitStack() as stack:
        if with_index:
            _hold(stack, source, UP_LOCK)
            _hold(stack, source, INDEX_LOCK)
        make_folder(unfinished.parent)
        try:
            unfinished.mkdir(mode=0o700)
        except FileExistsError:
            raise PreconditionFailed(
                f"{unfinished} is left from a backup that was cut off, or one runs: delete it."
            ) from None
        stack.callback(shutil.rmtree, unfinished, ignore_errors=True)
        manifest = _copy(source, unfinished, with_index=with_index)
        manifest.write(unfinished)
        sync(unfinished / MANIFEST)
        unfinished.rename(target)
        sync(target.parent)
    _show(manifest, f"backed up {source} to {target}")
    for path in DATABASES:
        if path not in manifest.rows:
            problem(f"{path} is not there: on PostgreSQL it has to be backed up apart")
    for name in manifest.left_out:
        problem(f"the upload {name} is damaged on disk and was left out: hand its file in again")
    if manifest.left_out:
        raise typer.Exit(1)


def restore(
    source: Annotated[Path, typer.Argument(help="Folder that `radref backup` made.")],
    data_dir: Annotated[Path, typer.Option(help="Data folder to make; must be empty or not exist.")],
) -> None:
    """Put a backup into a fresh data folder. Every file is compared with what was backed up."""
    manifest = Manifest.read(source)
    target = data_dir.absolute()
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise InvalidInput(f"{target} is not an empty folder: move it away, or name another --data-dir.")
    with _told(), ExitStack() as stack:
        make_folder(target)
        # Nobody starts there before everything is in its place.
        _hold(stack, target, UP_LOCK)
        stack.push(_empty_when_failed(target / UP_LOCK))
        staging = target / "restore.unfinished"
        stack.callback(shutil.rmtree, staging, ignore_errors=True)
        for file in manifest.files:
            _same(file, copy_file(source / file.path, staging / file.path, file.path))
        for path, rows in manifest.rows.items():
            if count_rows(staging / path) != rows:
                raise PreconditionFailed(f"{path} does not hold the rows that were backed up.")
        # The registry last: without it nobody takes this for a whole installation.
        for name in sorted((part.name for part in staging.iterdir()), reverse=True):
            if name != "documents":
                (staging / name).rename(target / name)
        (staging / "documents").rename(target / "documents")
        sync(target)
    _show(manifest, f"restored {source} (made {manifest.created} by radref {manifest.radref}) to {target}")
    out.print("Next: put gateway/audit.key back from where you keep it, then start.", markup=False)
    if not manifest.has_index:
        out.print("The index is not in this backup: once it runs, radref kb verify --repair.")


def _empty_when_failed(lock: Path) -> Callable[[object, object, object], None]:
    """At the end of a restore: what failed can be tried again on the same folder."""

    def leave(kind: object, error: object, trace: object) -> None:
        if kind is not None:
            lock.unlink(missing_ok=True)

    return leave


def _copy(source: Path, target: Path, *, with_index: bool) -> Manifest:
    created = datetime.now(UTC).isoformat(timespec="seconds")
    files: list[CopiedFile] = []
    rows: dict[str, dict[str, int]] = {}
    left_out: list[str] = []
    for path in DATABASES:
        if (source / path).is_file():
            files.append(copy_database(source / path, target / path, path))
            rows[path] = count_rows(target / path)
    for path in blobs_below(source):
        copied = copy_file(source / path, target / path, path)
        if copied.sha256 == Path(path).name:
            files.append(copied)
        else:
            (target / path).unlink()
            left_out.append(copied.path)
    if with_index:
        files += [copy_file(source / path, target / path, path) for path in index_files_below(source)]
    # Read back: what the disk has, not what was meant.
    for file in files:
        _same(file, describe(target / file.path, file.path))
    return Manifest(created, __version__, tuple(files), rows, tuple(left_out))


def _same(wanted: CopiedFile, found: CopiedFile) -> None:
    if wanted != found:
        raise PreconditionFailed(f"{wanted.path} is not what was backed up: the copy is damaged.")


def _hold(stack: ExitStack, folder: Path, lock: str) -> None:
    (folder / lock).parent.mkdir(exist_ok=True)
    if not stack.enter_context(held(folder / lock)):
        raise PreconditionFailed(f"{folder} is in use ({lock} is held): stop what runs there first.")


@contextmanager
def _told() -> Iterator[None]:
    """Disk errors as errors for people."""
    try:
        yield
    except OSError as exc:
        problem(f"{exc.filename or 'disk'}: {exc.strerror}")
        raise typer.Exit(1) from None
    except sqlite3.Error as exc:
        problem(f"SQLite: {exc}")
        raise typer.Exit(1) from None


def _show(manifest: Manifest, what: str) -> None:
    size = sum(file.bytes for file in manifest.files)
    uploads = sum(file.path.startswith(f"{BLOBS}/") for file in manifest.files)
    out.print(what, markup=False)
    index = "with" if manifest.has_index else "without"
    out.print(f"{uploads} uploads, {index} the index, {size / 1e6:.1f} MB; checked: hashes, integrity, rows")
