"""`radref kb load-variants` of the sample base: versions that failed, and files of another kind."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from radref.api.common.v1 import errors_pb2
from radref.api.ingest.v1 import ingest_pb2
from tests.cli.conftest import Cli
from tests.cli.fake_ingest import FakeIngest

SAMPLE = Path(__file__).parents[2] / "samples" / "appropriateness" / "kb.yaml"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return Path(shutil.copy(SAMPLE, tmp_path / "kb.yaml"))


def rewrite(file: Path, text: str) -> None:
    file.write_text(text, encoding="utf-8")


def test_a_variant_whose_newest_version_failed_is_withdrawn_too(
    cli: Cli, ingest: FakeIngest, file: Path
) -> None:
    """Its older version is still searched."""
    text = file.read_text(encoding="utf-8")
    assert "12 new, 0 changed, 0 unchanged" in cli("kb", "load-variants", file).out
    ingest.failing["lbp-cauda-equina.md"] = ingest_pb2.JobFailure(
        reason=errors_pb2.ERROR_REASON_BACKEND_UNAVAILABLE, message="The index does not answer."
    )
    rewrite(file, text.replace("title: Low back pain\n", "title: Back pain\n"))
    failed = cli("kb", "load-variants", file)
    assert failed.code == 1
    assert "0 new, 2 changed, 9 unchanged, 0 withdrawn, 1 failed" in failed.out

    rewrite(file, text[: text.index("  - id: low-back-pain\n")])
    done = cli("kb", "load-variants", file, "--withdraw-missing", "--reason", "new edition", "--yes")
    assert done.code == 0, done.err
    assert "0 new, 0 changed, 3 unchanged, 9 withdrawn, 0 failed" in done.out
    withdrawn = [event for event in ingest.events if event.action == "withdrawn"]
    assert "variant__lbp-cauda-equina" in {event.document_id for event in withdrawn}
    assert {event.reason for event in withdrawn} == {"new edition"}


@pytest.mark.parametrize(
    "text", ["", "topics: []", "schema: appropriateness-kb/2\nversion: '1'\ntopics: []\n"], ids=len
)
def test_a_file_without_variants_withdraws_nothing(
    cli: Cli, ingest: FakeIngest, file: Path, text: str
) -> None:
    cli("kb", "load-variants", file)
    rewrite(file, text)
    assert cli("kb", "check-variants", file).code == 1
    done = cli("kb", "load-variants", file, "--withdraw-missing", "--reason", "x", "--yes")
    assert done.code == 2
    assert not [event for event in ingest.events if event.action == "withdrawn"]


def test_other_yaml_is_a_document_like_any_other(cli: Cli, ingest: FakeIngest, file: Path) -> None:
    rewrite(file, "# schema: appropriateness-kb/2\nnote: another file\n")
    assert cli("ingest", "--topic", "safety", file).code == 0
    assert list(ingest.versions) == ["kb.yaml"]
