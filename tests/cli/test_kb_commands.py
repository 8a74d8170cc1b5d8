"""`radref kb ...`: what curators see and what the exit codes say."""

import json
import os
import pty
import sys
from pathlib import Path

import pytest

from radref import knowledge_base
from radref.api.common.v1 import documents_pb2, errors_pb2
from radref.api.ingest.v1 import ingest_pb2
from tests.cli.conftest import Cli
from tests.cli.fake_ingest import TIME, FakeIngest


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "doses.md"
    path.write_text("# Doses\nEye lens: 20 mSv.\n", encoding="utf-8")
    return path


def upload(cli: Cli, file: Path, text: str = "", *options: str) -> None:
    if text:
        file.write_text(text, encoding="utf-8")
    done = cli("ingest", "--topic", "safety", *options, file)
    assert done.code == 0, done.err + done.out


def test_a_document_waits_is_shown_and_approved(cli: Cli, ingest: FakeIngest, file: Path) -> None:
    ingest.review = True
    upload(cli, file)
    shown = cli("kb", "show", "doses.md").out
    for part in (
        "1, parsed (not searched)",
        "2 pages hold no text",
        "Eye lens  pp. 3-4",
        "kb approve doses.md",
    ):
        assert part in shown
    assert cli("kb", "show", "doses.md", "--markdown").out == file.read_text(encoding="utf-8")
    done = cli("kb", "approve", "doses.md", "--as", "Иванов И. И.", "--comment", "проверено")
    assert done.code == 0, done.err
    assert "indexed version 1 of doses.md: 1 parents, 2 children" in done.out
    assert ingest.versions["doses.md"][0].reviews[0].reviewer == "Иванов И. И."
    assert "approved by Иванов И. И." in cli("kb", "show", "doses.md").out


def test_no_wait_names_the_job_only(cli: Cli, ingest: FakeIngest, file: Path) -> None:
    ingest.review = True
    upload(cli, file)
    done = cli("kb", "approve", "doses.md", "--no-wait")
    assert done.code == 0
    assert "radref kb watch job-2" in done.out
    assert "indexed" not in done.out
    assert "indexed version 1" in cli("kb", "watch", "job-2").out
    assert cli("kb", "watch", "job-9").code == 2


def test_two_people(cli: Cli, ingest: FakeIngest, file: Path) -> None:
    ingest.review, ingest.approvals = True, 2
    upload(cli, file)
    done = cli("kb", "approve", "doses.md", "--as", "ann")
    assert (done.code, "approval by somebody else" in done.out) == (0, True)
    assert "indexed version 1" in cli("kb", "approve", "doses.md", "--as", "bob").out


def test_reject_needs_a_comment_and_a_waiting_version(cli: Cli, ingest: FakeIngest, file: Path) -> None:
    ingest.review = True
    upload(cli, file)
    assert cli("kb", "reject", "doses.md").code == 2
    assert cli("kb", "reject", "doses.md", "--comment", "wrong scan").code == 0
    assert ingest.versions["doses.md"][0].state == documents_pb2.DOCUMENT_STATE_REJECTED
    again = cli("kb", "approve", "doses.md")
    assert again.code == 1
    assert "version 1 is rejected" in again.err
    assert "radref kb history doses.md" in again.err


@pytest.mark.parametrize(
    "arguments",
    [
        ("show", "nowhere"),
        ("history", "nowhere"),
        ("approve", "nowhere"),
        ("diff", "nowhere"),
        ("withdraw", "nowhere", "--reason", "x", "--yes"),
        ("list", "--state", "unheard-of"),
        ("diff", "doses.md", "1"),
        ("show", "doses.md", "--version", "99999999999"),
        ("rollback", "doses.md", "1"),
        ("withdraw", "doses.md", "--yes"),
        ("approve", "doses.md", "--as", " "),
        ("show", "\udcff"),
        ("reembed", "--model", "unknown"),
    ],
    ids=" ".join,
)
def test_wrong_input_ends_with_2(cli: Cli, arguments: tuple[str, ...]) -> None:
    done = cli("kb", *arguments)
    assert done.code == 2
    assert "rror" in done.err


def test_replace_sends_what_is_said(cli: Cli, ingest: FakeIngest, file: Path) -> None:
    upload(cli, file)
    file.write_text("# Doses\nEye lens: 15 mSv.\n", encoding="utf-8")
    dates = ("--effective-from", "2026-03-01", "--effective-until", "2027-01-01T03:00+03:00")
    said = ("--supersedes", "old-law", "--authority", "ФМБА", "--year", "2026")
    done = cli("kb", "replace", "doses.md", file, *dates, *said)
    assert done.code == 0, done.err
    assert "indexed version 2 of doses.md: 1 parents, 2 children; 1 children embedded, 1 reused" in done.out
    metadata = ingest.headers[-1].metadata
    assert (metadata.title, metadata.authority, metadata.year) == ("", "ФМБА", 2026)
    assert metadata.effective_from.ToJsonString() == "2026-03-01T00:00:00Z"
    assert metadata.effective_until.ToJsonString() == "2027-01-01T00:00:00Z"
    assert list(metadata.supersedes) == ["old-law"]
    assert "holds these bytes already" in cli("kb", "replace", "doses.md", file).out
    for date in ("soon", "0001-01-01T00:00+03:00"):
        assert cli("kb", "replace", "doses.md", file, "--effective-from", date).code == 2
    assert cli("kb", "replace", "doses.md", file.parent / "no-file.md").code == 2


def test_a_failed_job_is_told_and_retried(cli: Cli, ingest: FakeIngest, file: Path) -> None:
    upload(cli, file)
    ingest.failing["doses.md"] = ingest_pb2.JobFailure(
        reason=errors_pb2.ERROR_REASON_BACKEND_UNAVAILABLE,
        message="The index does not answer.",
        retryable=True,
    )
    file.write_text("other\n", encoding="utf-8")
    failed = cli("kb", "replace", "doses.md", file)
    assert failed.code == 1
    assert "BACKEND_UNAVAILABLE: The index does not answer." in failed.err
    assert "radref kb retry job-2" in failed.err
    retried = cli("kb", "retry", "job-2")
    assert (retried.code, "indexed version 2" in retried.out) == (0, True)


def test_rollback_history_and_audit(cli: Cli, ingest: FakeIngest, file: Path) -> None:
    upload(cli, file)
    file.write_text("# Doses\nEye lens: 15 mSv.\n", encoding="utf-8")
    cli("kb", "replace", "doses.md", file, "--as", "bob")
    done = cli("kb", "rollback", "doses.md", "1", "--reason", "typo in 2", "--as", "eve")
    assert done.code == 0, done.err
    assert "going back to version 1 of doses.md (version 2 is searched now)" in done.out
    history = cli("kb", "history", "doses.md").out
    lines = {line.split("│")[1].strip(): line for line in history.splitlines() if "│" in line}
    assert "indexed, searched" in lines["1"]
    assert all(part in lines["2"] for part in ("superseded", "bob", "2026-03-01 09:30"))
    assert any("eve" in line and "typo in 2" in line for line in history.splitlines())
    both = json.loads(cli("kb", "history", "doses.md", "--json").out)
    assert [v["state"] for v in both["versions"]] == ["DOCUMENT_STATE_INDEXED", "DOCUMENT_STATE_SUPERSEDED"]
    assert both["events"][0]["action"] == "indexed"
    newest = cli("kb", "audit", "--limit", "2").out
    assert "rolled-back" in newest
    assert "submitted" not in newest


def test_diff_is_plain_outside_a_terminal(cli: Cli, file: Path) -> None:
    upload(cli, file)
    assert cli("kb", "diff", "doses.md").code == 1
    file.write_text("# Doses\nEye lens: 15 mSv.\n", encoding="utf-8")
    cli("kb", "replace", "doses.md", file)
    assert cli("kb", "diff", "doses.md").out == (
        "--- doses.md version 1\n+++ doses.md version 2\n@@ Doses > Eye lens @@\n"
        " # Doses\n-Eye lens: 20 mSv.\n+Eye lens: 15 mSv.\n@@ Новое @@ new\n+Добавлено.\n"
    )
    assert "is the same" in cli("kb", "diff", "doses.md", "2", "2").out


def test_withdraw_asks_on_a_terminal_only(
    cli: Cli, ingest: FakeIngest, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    upload(cli, file)
    refused = cli("kb", "withdraw", "doses.md", "--reason", "old")
    assert refused.code == 2
    assert "--yes" in refused.err
    for answer, code, state in (("n", 1, "INDEXED"), ("y", 0, "WITHDRAWN")):
        ours, theirs = pty.openpty()
        os.write(ours, f"{answer}\n".encode())
        with os.fdopen(theirs, encoding="utf-8") as terminal:
            monkeypatch.setattr(sys, "stdin", terminal)
            done = cli("kb", "withdraw", "doses.md", "--reason", "old")
        os.close(ours)
        assert done.code == code, done.err
        assert ingest.versions["doses.md"][0].state == documents_pb2.DocumentState.Value(
            f"DOCUMENT_STATE_{state}"
        )
    assert "version 1 was searched" in done.out


def test_list_filters_and_pages(cli: Cli, ingest: FakeIngest, tmp_path: Path) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    for number in range(5):
        (folder / f"a-very-long-document-name-that-must-stay-whole-in-a-pipe-{number}.md").write_text(
            str(number)
        )
    assert cli("ingest", "--topic", "safety", folder).code == 0
    listed = cli("kb", "list", "--state", "indexed", "--topic", "safety", "--page-size", "3").out
    assert sum("stay-whole-in-a-pipe" in line and "indexed" in line for line in listed.splitlines()) == 3
    assert "3 shown, 5 in all" in listed
    rest = listed.splitlines()[-1].removeprefix("next page: radref ").split()
    assert "2 shown, 5 in all" in cli(*rest).out
    assert json.loads(cli("kb", "list", "--state", "failed", "--json").out)["documents"] == []


def test_verify(cli: Cli, ingest: FakeIngest) -> None:
    ingest.verified = ingest_pb2.VerifyIndexResponse(documents=3, children_expected=10, children_found=10)
    assert (cli("kb", "verify").code, "agree" in cli("kb", "verify").out) == (0, True)
    ingest.verified.divergences.add(document_id="a", version=2, message="2 children are missing")
    found = cli("kb", "verify")
    assert found.code == 1
    assert "a version 2: 2 children are missing" in found.out
    assert "radref kb verify --repair" in found.out
    mended = cli("kb", "verify", "--repair")
    assert (mended.code, "1 difference, 1 repaired" in mended.out) == (0, True)
    as_json = cli("kb", "verify", "--json")
    assert (as_json.code, json.loads(as_json.out)["divergences"][0]["repaired"]) == (1, False)


def test_reembed(cli: Cli) -> None:
    done = cli("kb", "reembed")
    assert (done.code, "index built anew: 3 documents" in done.out) == (0, True)


def test_sources(cli: Cli, ingest: FakeIngest) -> None:
    assert "No files are watched" in cli("kb", "sources").out
    ingest.watched = [
        ingest_pb2.WatchedFile(location="/srv/a.pdf", source="share", document_id="a", checked_at=TIME),
        ingest_pb2.WatchedFile(location="/srv/b.pdf", source="share", vanished_at=TIME),
    ]
    assert "/srv/a.pdf" in cli("kb", "sources").out
    troubled = cli("kb", "sources", "--troubled").out
    assert "gone since 2026-03-01 09:30" in troubled
    assert "/srv/a.pdf" not in troubled


def test_status_shows_what_waits_and_what_failed(cli: Cli, ingest: FakeIngest, file: Path) -> None:
    ingest.review = True
    upload(cli, file)
    ingest.failing["bad.md"] = ingest_pb2.JobFailure(
        reason=errors_pb2.ERROR_REASON_CORRUPT_FILE, message="The file is damaged."
    )
    (file.parent / "bad.md").write_text("x")
    assert cli("ingest", "--topic", "safety", file.parent / "bad.md").code == 1
    done = cli("status")
    # Only the ingest service runs here.
    assert done.code == 1
    assert "1 waiting for review:\n  radref kb show doses.md\n" in done.out
    assert "1 failed:\n  bad.md: CORRUPT_FILE: The file is damaged.\n" in done.out


def test_a_lost_stream_is_made_anew_however_long_it_was_quiet(
    cli: Cli, ingest: FakeIngest, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(knowledge_base, "RECONNECT_SECONDS", 0.01)
    ingest.lost_watches = 3
    upload(cli, file)
    assert ingest.lost_watches == 0
    monkeypatch.setattr(knowledge_base, "LOST_SECONDS", 0.0)
    ingest.lost_watches = 1
    assert cli("kb", "watch", "job-1").code == 0


def test_nobody_answers(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RADREF_INGEST", "127.0.0.1:1")
    done = cli("kb", "list")
    assert done.code == 1
    assert "radref up" in done.err
