"""`radref ingest` of a folder, and again: what is new, what changed, what is left alone."""

import shutil
from pathlib import Path

import pytest

from radref.api.common.v1 import documents_pb2, errors_pb2
from radref.api.ingest.v1 import ingest_pb2
from tests.cli.conftest import Cli, Done
from tests.cli.fake_ingest import FakeIngest


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "documents"
    (root / "mri").mkdir(parents=True)
    (root / "doses.md").write_text("# Doses\nEye lens: 20 mSv.\n", encoding="utf-8")
    (root / "mri" / "zones.md").write_text("# Zones\nFour.\n", encoding="utf-8")
    (root / "Приказ.md").write_text("# Приказ\nТекст.\n", encoding="utf-8")
    return root


def run(cli: Cli, *paths: Path, options: tuple[str, ...] = ()) -> Done:
    return cli("ingest", "--topic", "safety", *options, *paths)


def row(done: Done, name: str) -> str:
    return next(line for line in done.out.splitlines() if line.startswith(f"│ {name} "))


def test_again_does_nothing_and_a_changed_file_is_a_new_version(
    cli: Cli, ingest: FakeIngest, folder: Path
) -> None:
    first = run(cli, folder)
    assert first.code == 0, first.err
    assert "3 files: 3 indexed; 3 parents, 6 children (6 embedded, 0 reused); " in first.out
    assert "documents a minute" in first.out
    uploads = len(ingest.headers)

    again = run(cli, folder)
    assert again.code == 0
    assert "3 files: 3 skipped; 0 parents, 0 children (0 embedded, 0 reused)\n" in again.out
    assert "unchanged: version 1 of doses.md, indexed" in row(again, "doses.md")
    assert len(ingest.headers) == uploads

    (folder / "doses.md").write_text("# Doses\nEye lens: 15 mSv.\n", encoding="utf-8")
    changed = run(cli, folder)
    assert "1 indexed, 2 skipped; 1 parents, 2 children (1 embedded, 1 reused)" in changed.out
    assert "version 2" in row(changed, "doses.md")
    assert [v.version for v in ingest.versions["doses.md"]] == [1, 2]
    assert set(ingest.versions) >= {"doses.md", "mri--zones.md"}
    assert len(ingest.versions) == 3


def test_the_same_file_alone_is_the_same_document(cli: Cli, ingest: FakeIngest, folder: Path) -> None:
    run(cli, folder)
    (folder / "doses.md").write_text("# Doses\nNew.\n", encoding="utf-8")
    assert run(cli, folder / "doses.md").code == 0
    assert len(ingest.versions["doses.md"]) == 2


def test_a_copy_is_a_duplicate(cli: Cli, ingest: FakeIngest, folder: Path) -> None:
    run(cli, folder)
    shutil.copy(folder / "doses.md", folder / "copy.md")
    done = run(cli, folder)
    assert "same content as doses.md" in row(done, "copy.md")
    assert "copy.md" not in ingest.versions
    shutil.copy(folder / "mri" / "zones.md", folder / "doses.md")
    changed = run(cli, folder)
    assert changed.code == 0
    assert "same content as mri--zones.md; doses.md stays as it is" in row(changed, "doses.md")


def test_a_file_of_the_same_name_from_elsewhere_replaces_nothing(
    cli: Cli, ingest: FakeIngest, folder: Path, tmp_path: Path
) -> None:
    run(cli, folder)
    other = tmp_path / "other"
    other.mkdir()
    (other / "doses.md").write_text("# Doses of another kind\n", encoding="utf-8")
    done = cli("ingest", "--topic", "physics", other)
    assert done.code == 1
    assert "radref kb replace doses.md FILE" in row(done, "doses.md")
    assert len(ingest.versions["doses.md"]) == 1
    # Whoever names the document means it.
    (other / "manifest.jsonl").write_text('{"file": "doses.md", "doc_id": "doses.md", "topic": "physics"}')
    assert cli("ingest", other).code == 0
    assert len(ingest.versions["doses.md"]) == 2


def test_two_files_never_become_one_document(cli: Cli, ingest: FakeIngest, folder: Path) -> None:
    done = run(cli, folder, folder / "mri")
    assert done.code == 0
    other = folder.parent / "other"
    other.mkdir()
    (other / "doses.md").write_text("# Other\n", encoding="utf-8")
    done = run(cli, folder, other)
    assert done.code == 1
    assert done.out.count("would both be document doses.md") == 2
    assert len(ingest.versions["doses.md"]) == 1


def test_ten_files_with_two_broken(cli: Cli, ingest: FakeIngest, tmp_path: Path) -> None:
    folder = tmp_path / "ten"
    folder.mkdir()
    for number in range(8):
        (folder / f"good-{number}.md").write_text(f"# Document {number}\n", encoding="utf-8")
    (folder / "empty.md").write_bytes(b"")
    (folder / "damaged.pdf").write_bytes(b"%PDF-1.7 ...")
    ingest.failing["damaged.pdf"] = ingest_pb2.JobFailure(
        reason=errors_pb2.ERROR_REASON_CORRUPT_FILE, message="The file is damaged."
    )
    done = run(cli, folder)
    assert done.code == 1
    assert "10 files: 8 indexed, 2 refused; " in done.out
    assert "EMPTY_FILE: The file is empty." in row(done, "empty.md")
    assert "CORRUPT_FILE: The file is damaged." in row(done, "damaged.pdf")


def test_what_waits_says_so_the_first_time_and_again(cli: Cli, ingest: FakeIngest, folder: Path) -> None:
    ingest.review = True
    first = run(cli, folder / "doses.md")
    assert first.code == 0
    assert first.out.endswith("waiting for review:\n  radref kb approve doses.md\n")
    again = run(cli, folder / "doses.md")
    assert "it waits for review: radref kb approve doses.md" in row(again, "doses.md")
    assert len(ingest.headers) == 1


def test_what_was_taken_out_stays_out_unless_asked(cli: Cli, ingest: FakeIngest, folder: Path) -> None:
    run(cli, folder / "doses.md")
    cli("kb", "withdraw", "doses.md", "--reason", "old", "--yes")
    again = run(cli, folder / "doses.md")
    assert (again.code, "was withdrawn on 2026-03-01" in row(again, "doses.md")) == (0, True)
    (folder / "doses.md").write_text("changed", encoding="utf-8")
    assert "--reopen" in row(run(cli, folder / "doses.md"), "doses.md")
    assert ingest.versions["doses.md"][-1].state == documents_pb2.DOCUMENT_STATE_WITHDRAWN
    assert run(cli, folder / "doses.md", options=("--reopen",)).code == 0
    assert ingest.versions["doses.md"][-1].state == documents_pb2.DOCUMENT_STATE_INDEXED


def test_rejected_bytes_stay_rejected_and_corrected_ones_wait(
    cli: Cli, ingest: FakeIngest, folder: Path
) -> None:
    ingest.review = True
    run(cli, folder / "doses.md")
    cli("kb", "reject", "doses.md", "--comment", "typo")
    assert "rejected as version 1" in row(run(cli, folder / "doses.md"), "doses.md")
    (folder / "doses.md").write_text("corrected", encoding="utf-8")
    assert "waits for review" in row(run(cli, folder / "doses.md"), "doses.md")


def test_a_failed_file_is_tried_again(cli: Cli, ingest: FakeIngest, folder: Path) -> None:
    ingest.failing["doses.md"] = ingest_pb2.JobFailure(
        reason=errors_pb2.ERROR_REASON_BACKEND_UNAVAILABLE, message="No embedder.", retryable=True
    )
    failed = run(cli, folder / "doses.md")
    assert (failed.code, "radref kb retry job-1" in row(failed, "doses.md")) == (1, True)
    ingest.failing.clear()
    assert "1 indexed" in run(cli, folder / "doses.md").out


def test_a_broken_file_is_named_again_without_one_more_version(
    cli: Cli, ingest: FakeIngest, folder: Path
) -> None:
    ingest.failing["doses.md"] = ingest_pb2.JobFailure(
        reason=errors_pb2.ERROR_REASON_NO_TEXT, message="The file holds no text."
    )
    run(cli, folder / "doses.md")
    again = run(cli, folder / "doses.md")
    assert (again.code, "NO_TEXT: The file holds no text. (as before" in row(again, "doses.md")) == (1, True)
    assert len(ingest.versions["doses.md"]) == 1
    ingest.failing.clear()
    assert "1 indexed" in run(cli, folder / "doses.md", options=("--reopen",)).out


def test_a_name_that_is_no_text_is_refused_and_the_rest_goes_on(
    cli: Cli, ingest: FakeIngest, folder: Path
) -> None:
    (folder / "bad-\udcff.md").write_text("x", encoding="utf-8")
    done = run(cli, folder)
    assert done.code == 1
    assert "3 indexed, 1 refused" in done.out
    assert "its name is not UTF-8" in row(done, "bad-?.md")


def test_who_uploads_is_kept(cli: Cli, ingest: FakeIngest, folder: Path) -> None:
    run(cli, folder / "doses.md")
    run(cli, folder / "mri", options=("--as", "Петрова"))
    assert ingest.versions["doses.md"][0].submitted_by == "ann"
    assert ingest.versions["zones.md"][0].submitted_by == "Петрова"
