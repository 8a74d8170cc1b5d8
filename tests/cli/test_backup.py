"""`radref backup` and `restore` on a folder made by hand; tests/e2e/test_backup_restore.py has a real one."""

from __future__ import annotations

import fcntl
import hashlib
import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from radref.cli.main import app
from radref.errors import InvalidInput, PreconditionFailed

UPLOAD = b"# Quokka rule\n"
SHA = hashlib.sha256(UPLOAD).hexdigest()


@dataclass
class Folders:
    """A data folder, where its backup goes, and where that is restored."""

    data: Path
    copy: Path
    again: Path

    @property
    def registry(self) -> Path:
        return self.data / "documents/registry.sqlite3"

    def backup(self, *options: str) -> Result:
        return _run("backup", "--data-dir", str(self.data), "--to", str(self.copy), *options)

    def restore(self) -> Result:
        return _run("restore", str(self.copy), "--data-dir", str(self.again))


def _run(*words: str) -> Result:
    done = CliRunner().invoke(app, list(words))
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done


@pytest.fixture
def folders(tmp_path: Path) -> Folders:
    made = Folders(tmp_path / "data", tmp_path / "copies/monday", tmp_path / "again")
    for path in ("documents/registry.sqlite3", "gateway/audit.sqlite3"):
        (made.data / path).parent.mkdir(parents=True)
        with closing(sqlite3.connect(made.data / path)) as database:
            database.execute("PRAGMA journal_mode = WAL")
            database.executescript("CREATE TABLE things (name TEXT); INSERT INTO things VALUES ('one')")
    blob = made.data / "documents/blobs" / SHA[:2] / SHA
    blob.parent.mkdir(parents=True)
    blob.write_bytes(UPLOAD)
    (made.data / "documents/blobs/incoming").mkdir()
    (made.data / "documents/blobs/incoming/x.part").write_bytes(b"half an upl")
    (made.data / "gateway/audit.key").write_bytes(b"k" * 32)
    (made.data / "index").mkdir()
    with (made.data / "index/vectors.mmap").open("wb") as sparse:
        sparse.write(b"first")
        sparse.truncate(40_000_000)
    return made


def things(database: Path) -> list[str]:
    with closing(sqlite3.connect(database)) as connection:
        return [row[0] for row in connection.execute("SELECT name FROM things ORDER BY name")]


def test_what_is_written_meanwhile_is_in_the_copy_wholly_or_not_at_all(folders: Folders) -> None:
    with closing(sqlite3.connect(folders.registry, isolation_level=None)) as writer:
        writer.execute("INSERT INTO things VALUES ('committed, in the write-ahead log')")
        writer.execute("BEGIN IMMEDIATE")
        writer.execute("INSERT INTO things VALUES ('in a transaction that is not at its end')")
        assert folders.backup().exit_code == 0
        writer.execute("COMMIT")
    assert folders.restore().exit_code == 0
    assert things(folders.again / "documents/registry.sqlite3") == [
        "committed, in the write-ahead log",
        "one",
    ]
    assert (folders.again / "documents/blobs" / SHA[:2] / SHA).read_bytes() == UPLOAD
    # No half upload, no key beside the hashes that it protects, no index.
    kept = {path.relative_to(folders.again).as_posix() for path in folders.again.rglob("*") if path.is_file()}
    assert kept == {
        "up.lock",
        "gateway/audit.sqlite3",
        "documents/registry.sqlite3",
        f"documents/blobs/{SHA[:2]}/{SHA}",
    }
    for path in (folders.copy, folders.again / "gateway", folders.again / "documents"):
        assert path.stat().st_mode & 0o077 == 0
    assert (folders.again / "gateway/audit.sqlite3").stat().st_mode & 0o077 == 0


def test_after_a_crash_nothing_committed_is_missing(folders: Folders) -> None:
    """The services died: the write-ahead log is there, its index in shared memory perhaps not."""
    crash = (
        "import os, sqlite3, sys; c = sqlite3.connect(sys.argv[1], isolation_level=None); "
        "c.execute('PRAGMA wal_autocheckpoint = 0'); "
        "c.execute('INSERT INTO things VALUES (?)', ['late']); os._exit(1)"
    )
    subprocess.run([sys.executable, "-c", crash, str(folders.registry)], check=False, timeout=60)
    log = folders.registry.with_name("registry.sqlite3-wal")
    assert log.stat().st_size > 0
    folders.registry.with_name("registry.sqlite3-shm").unlink()
    assert folders.backup().exit_code == 0
    assert folders.restore().exit_code == 0
    assert things(folders.again / "documents/registry.sqlite3") == ["late", "one"]


def test_the_index_is_copied_only_while_nothing_runs_there(folders: Folders) -> None:
    for lock in ("up.lock", "index/lock"):
        with (folders.data / lock).open("w") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            with pytest.raises(PreconditionFailed, match="in use"):
                folders.backup("--with-index")
        assert not folders.copy.exists()
    done = folders.backup("--with-index")
    assert done.exit_code == 0
    assert folders.restore().exit_code == 0
    restored = folders.again / "index/vectors.mmap"
    assert restored.read_bytes() == (folders.data / "index/vectors.mmap").read_bytes()
    assert restored.stat().st_blocks * 512 < 5_000_000, "holes were written out"
    assert not (folders.again / "index/lock").exists()


def test_a_damaged_upload_does_not_cost_the_rest(folders: Folders) -> None:
    (folders.data / "documents/blobs" / SHA[:2] / SHA).write_bytes(b"rotten")
    done = folders.backup()
    assert done.exit_code == 1
    assert SHA in done.output
    assert folders.restore().exit_code == 0
    assert things(folders.again / "documents/registry.sqlite3") == ["one"]


def test_a_damaged_database_is_no_backup(folders: Folders) -> None:
    with folders.registry.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * 4096)
    with pytest.raises(PreconditionFailed, match="damaged"):
        folders.backup()
    assert not list(folders.copy.parent.iterdir())


@pytest.mark.parametrize("path", ["documents/registry.sqlite3", f"documents/blobs/{SHA[:2]}/{SHA}"])
def test_a_copy_that_changed_is_not_restored(folders: Folders, path: str) -> None:
    folders.backup()
    good = (folders.copy / path).read_bytes()
    (folders.copy / path).write_bytes(good[:-1] + bytes([good[-1] ^ 1]))
    with pytest.raises(PreconditionFailed, match="damaged"):
        folders.restore()
    assert not list(folders.again.iterdir())
    (folders.copy / path).write_bytes(good)
    assert folders.restore().exit_code == 0


def test_a_file_that_is_gone_from_the_copy(folders: Folders) -> None:
    folders.backup()
    (folders.copy / "gateway/audit.sqlite3").unlink()
    done = folders.restore()
    assert done.exit_code == 1
    assert "No such file" in done.output
    assert not list(folders.again.iterdir())


def test_nothing_is_written_over(folders: Folders) -> None:
    folders.backup()
    with pytest.raises(InvalidInput, match="exists"):
        folders.backup()
    folders.again.mkdir()
    (folders.again / "mine").touch()
    with pytest.raises(InvalidInput, match="not an empty folder"):
        folders.restore()
    assert [path.name for path in folders.again.iterdir()] == ["mine"]


def test_a_data_folder_without_registry_is_no_data_folder(folders: Folders, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="PostgreSQL"):
        _run("backup", "--data-dir", str(tmp_path / "none"), "--to", str(folders.copy))
    with pytest.raises(InvalidInput, match="inside the data folder"):
        _run("backup", "--data-dir", str(folders.data), "--to", str(folders.data / "copy"))


def test_a_missing_audit_trail_is_said(folders: Folders) -> None:
    (folders.data / "gateway/audit.sqlite3").unlink()
    done = folders.backup()
    assert done.exit_code == 0
    assert "gateway/audit.sqlite3 is not there" in done.output


@pytest.mark.parametrize(
    "change",
    [{"format": 2}, {"files": [{"path": "../x", "bytes": 0, "sha256": ""}]}, {"rows": None, "files": 3}],
)
def test_a_list_that_is_not_ours_is_refused(folders: Folders, change: dict[str, object]) -> None:
    folders.backup()
    listed = json.loads((folders.copy / "backup.json").read_text())
    (folders.copy / "backup.json").write_text(json.dumps({**listed, **change}))
    with pytest.raises(InvalidInput):
        folders.restore()
    assert not folders.again.exists()
