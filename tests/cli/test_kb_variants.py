"""`radref kb check-variants` and `load-variants`: a knowledge base of variants from a file."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from radref.api.common.v1 import documents_pb2, errors_pb2
from radref.api.ingest.v1 import ingest_pb2
from radref.appropriateness.documents import variant_document_id
from tests.cli.conftest import Cli
from tests.cli.fake_ingest import FakeIngest

SAMPLE = Path(__file__).parents[2] / "samples" / "appropriateness" / "kb.yaml"
THUNDERCLAP = variant_document_id("headache-thunderclap")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return Path(shutil.copy(SAMPLE, tmp_path / "kb.yaml"))


def change(file: Path, before: str, after: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert before in text
    file.write_text(text.replace(before, after), encoding="utf-8")


def without_topics_after(file: Path, topic: str) -> None:
    text = file.read_text(encoding="utf-8")
    file.write_text(text[: text.index(f"  - id: {topic}\n")], encoding="utf-8")


def test_a_good_file_is_summed_up(cli: Cli, ingest: FakeIngest, file: Path) -> None:
    done = cli("kb", "check-variants", file)
    assert done.code == 0
    assert done.out == f"{file}: 12 variants of 5 topics, version 2026.1-synthetic, synthetic; no faults\n"
    assert ingest.versions == {}


def test_every_fault_is_told_with_its_line_and_nothing_is_sent(
    cli: Cli, ingest: FakeIngest, file: Path
) -> None:
    change(file, "schema: appropriateness-kb/2", "schema: appropriateness-kb/1")
    change(file, "rating: 9, rrl: medium, comment: First study; do not delay.", "rating: 12, rrl: medium")
    lines = file.read_text(encoding="utf-8").split("\n")
    schema = next(n for n, line in enumerate(lines, 1) if line.startswith("schema:"))
    rating = next(n for n, line in enumerate(lines, 1) if "rating: 12" in line)
    for command in ("check-variants", "load-variants"):
        done = cli("kb", command, file)
        assert done.code == (1 if command == "check-variants" else 2)
        assert "has 2 mistakes:" in done.err
        assert f"kb.yaml:{schema}: schema must be one of appropriateness-kb/2" in done.err
        assert f'kb.yaml:{rating}: rating of procedure 1 of variant "headache-thunderclap" is 12' in done.err
    assert ingest.versions == {}


@pytest.mark.parametrize(
    "text", ["", "topics: []", "schema: appropriateness-kb/2\nversion: '1'\ntopics: []\n"], ids=len
)
def test_a_file_without_variants_is_refused(cli: Cli, ingest: FakeIngest, file: Path, text: str) -> None:
    file.write_text(text, encoding="utf-8")
    assert cli("kb", "check-variants", file).code == 1
    done = cli("kb", "load-variants", file, "--withdraw-missing", "--reason", "x")
    assert done.code == 2
    for command in ("check-variants", "load-variants"):
        assert cli("kb", command, file.parent / "none.yaml").code == 2


def test_load_change_and_load_again(cli: Cli, ingest: FakeIngest, file: Path) -> None:
    first = cli("kb", "load-variants", file)
    assert (first.code, first.out) == (0, "12 variants: 12 indexed\n"), first.err
    assert ingest.versions[THUNDERCLAP][0].submitted_by == "ann"
    assert cli("kb", "load-variants", file).out == "12 variants: 12 unchanged\n"
    change(file, "First study; do not delay.", "First study.")
    assert cli("kb", "load-variants", file, "--as", "bob").out == "12 variants: 1 indexed, 11 unchanged\n"
    assert [each.submitted_by for each in ingest.versions[THUNDERCLAP]] == ["ann", "bob"]


def test_what_the_file_no_longer_holds_is_withdrawn_when_asked(
    cli: Cli, ingest: FakeIngest, file: Path, tmp_path: Path
) -> None:
    cli("kb", "load-variants", file)
    other = tmp_path / "doses.md"
    other.write_text("# Doses\n", encoding="utf-8")
    assert cli("ingest", "--topic", "consult", other).code == 0
    without_topics_after(file, "low-back-pain")
    assert cli("kb", "load-variants", file).out == "3 variants: 3 unchanged\n"
    refused = cli("kb", "load-variants", file, "--withdraw-missing")
    assert (refused.code, "--reason" in refused.err) == (2, True)

    asked = (file, "--withdraw-missing", "--reason", "new edition")
    planned = cli("kb", "load-variants", *asked, "--dry-run")
    assert planned.code == 0
    assert "would send headache-thunderclap: Sudden severe headache" in planned.out
    assert planned.out.count("would withdraw ") == 9
    assert "would withdraw lbp-cauda-equina\n" in planned.out
    assert not [event for event in ingest.events if event.action == "withdrawn"]

    done = cli("kb", "load-variants", *asked)
    assert (done.code, done.out) == (0, "12 variants: 3 unchanged, 9 withdrawn\n")
    withdrawn = [event for event in ingest.events if event.action == "withdrawn"]
    assert {event.reason for event in withdrawn} == {"new edition"}
    assert ingest.versions["doses.md"][0].state == documents_pb2.DOCUMENT_STATE_INDEXED
    assert cli("kb", "load-variants", *asked).out == "3 variants: 3 unchanged\n"
    assert cli("kb", "load-variants", SAMPLE).out == "12 variants: 9 indexed, 3 unchanged\n"


def test_a_variant_whose_newest_version_failed_is_withdrawn_too(
    cli: Cli, ingest: FakeIngest, file: Path
) -> None:
    """Its older version is still searched."""
    cli("kb", "load-variants", file)
    ingest.failing["lbp-cauda-equina.md"] = ingest_pb2.JobFailure(
        reason=errors_pb2.ERROR_REASON_BACKEND_UNAVAILABLE, message="The index does not answer."
    )
    change(file, "low back pain of less than six weeks", "low back pain of less than five weeks")
    change(file, "title: Low back pain\n", "title: Back pain\n")
    failed = cli("kb", "load-variants", file)
    assert failed.code == 1
    assert "lbp-cauda-equina: BACKEND_UNAVAILABLE: The index does not answer." in failed.err
    assert "12 variants: 2 indexed, 9 unchanged, 1 failed\n" in failed.out
    without_topics_after(file, "low-back-pain")
    done = cli("kb", "load-variants", file, "--withdraw-missing", "--reason", "x")
    assert (done.code, done.out) == (0, "12 variants: 3 unchanged, 9 withdrawn\n")


def test_a_plan_needs_no_service(cli: Cli, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RADREF_INGEST", "127.0.0.1:1")
    assert cli("kb", "load-variants", file, "--dry-run").out.count("would send ") == 12


def test_what_waits_for_review_is_told_with_the_command(cli: Cli, ingest: FakeIngest, file: Path) -> None:
    ingest.review = True
    done = cli("kb", "load-variants", file)
    assert done.code == 0
    assert "12 variants: 12 waits for review\n" in done.out
    command = next(line for line in done.out.splitlines() if "radref kb approve" in line).split(": ")[1]
    assert cli(*command.split()[1:]).code == 0
    assert "12 unchanged" in cli("kb", "load-variants", file).out


def test_a_document_upload_of_such_a_file_names_the_right_command(
    cli: Cli, ingest: FakeIngest, file: Path
) -> None:
    for name in ("kb.yaml", "KB.YML"):
        path = file.rename(file.with_name(name))
        done = cli("ingest", "--topic", "safety", path)
        assert done.code == 1
        assert f"radref kb load-variants {path}" in done.out
        file = path
    file.write_text("# schema: appropriateness-kb/2\nnote: another file\n", encoding="utf-8")
    assert cli("ingest", "--topic", "safety", file).code == 0
    assert list(ingest.versions) == ["KB.YML"]


def test_a_busy_service_is_asked_again(cli: Cli, ingest: FakeIngest, file: Path) -> None:
    ingest.busy = 3
    assert cli("kb", "load-variants", file).out == "12 variants: 12 indexed\n"
    assert ingest.busy <= 0
