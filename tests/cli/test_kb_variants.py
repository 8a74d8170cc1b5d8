"""`radref kb load-variants` and `check-variants`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from radref.api.common.v1 import documents_pb2 as docs
from radref.api.common.v1 import errors_pb2
from radref.api.ingest.v1 import ingest_pb2
from tests.cli.conftest import Cli
from tests.cli.fake_ingest import FakeIngest

SAMPLE = Path(__file__).parents[2] / "samples" / "appropriateness" / "kb.yaml"
VARIANT = """\
      - id: {id}
        title: "{title}"
        population: adult
        urgency: urgent
        criteria: {{all: [pain]}}
        keywords: [knee]
        procedures:
          - {{id: xr, name: Radiography knee, rating: {rating}, rrl: low}}
"""
Writer = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Writer:
    """Writes a base of variants: id -> rating."""

    def write(version: str = "1-synthetic", **ratings: int) -> Path:
        path = tmp_path / "bases" / "kb.yaml"
        path.parent.mkdir(exist_ok=True)
        head = f'schema: appropriateness-kb/2\nversion: "{version}"\ntopics:\n'
        topic = "  - id: knee\n    title: Knee\n    variants:\n"
        body = "".join(VARIANT.format(id=name, title=f"Knee {name}", rating=n) for name, n in ratings.items())
        path.write_text(head + topic + body, encoding="utf-8")
        return path

    return write


def rows(text: str) -> dict[str, str]:
    """The table's rows: variant -> the rest, with single spaces."""
    lines = [line.split("│") for line in text.splitlines() if "│" in line]
    return {cells[1].strip(): " ".join(" ".join(cells[2:-1]).split()) for cells in lines}


def test_check(cli: Cli, write: Writer) -> None:
    good = cli("kb", "check-variants", SAMPLE)
    assert (good.code, good.err) == (0, "")
    assert "good. Version 2026.1-synthetic: 12 variants in 5 topics, synthetic" in good.out
    bad = cli("kb", "check-variants", write(a=12, b=0))
    assert (bad.code, bad.out) == (1, "")
    assert "kb.yaml has 2 mistakes:\nkb.yaml:14: rating of procedure 1" in bad.err
    assert cli("kb", "check-variants", "nowhere.yaml").code == 1


def test_new_changed_unchanged_and_missing(cli: Cli, ingest: FakeIngest, write: Writer) -> None:
    first = cli("kb", "load-variants", write(a=9, b=8, c=7), "--as", "ann")
    assert first.code == 0, first.err
    assert "3 new, 0 changed, 0 unchanged, 0 withdrawn, 0 failed" in first.out
    assert set(ingest.versions) == {"variant__a", "variant__b", "variant__c"}
    assert ingest.versions["variant__a"][0].submitted_by == "ann"

    again = cli("kb", "load-variants", write(a=9, b=8, c=7))
    assert "0 new, 0 changed, 3 unchanged, 0 withdrawn, 0 failed" in again.out
    assert rows(again.out) == {}

    second = cli("kb", "load-variants", write(a=9, b=2))
    assert rows(second.out) == {
        "b": "changed procedures",
        "c": "not in the file stays; --withdraw-missing takes it out",
    }
    assert "0 new, 1 changed, 1 unchanged, 0 withdrawn, 0 failed, 1 not in the file" in second.out
    assert [len(ingest.versions[f"variant__{name}"]) for name in "abc"] == [1, 2, 1]

    version_only = cli("kb", "load-variants", write("2-synthetic", a=9, b=2), "--dry-run")
    assert rows(version_only.out)["a"] == "changed version of the file"
    assert "nothing was sent" in version_only.out
    assert len(ingest.versions["variant__a"]) == 1


def test_withdrawing_what_the_file_lacks(cli: Cli, ingest: FakeIngest, write: Writer) -> None:
    cli("kb", "load-variants", write(a=9, b=8))
    ingest.versions["note"] = [
        ingest_pb2.DocumentSummary(
            document_id="note",
            version=1,
            active_version=1,
            state=docs.DOCUMENT_STATE_INDEXED,
            metadata=docs.DocumentMetadata(topic="consult"),
        )
    ]
    file = write(a=9)
    assert cli("kb", "load-variants", file, "--withdraw-missing").code == 2
    reason = ("--withdraw-missing", "--reason", "merged into a")
    asks = cli("kb", "load-variants", file, *reason)
    assert asks.code == 2
    assert "--yes" in asks.err
    would = rows(cli("kb", "load-variants", file, *reason, "--dry-run").out)
    assert would == {"b": "not in the file would be withdrawn"}
    assert ingest.versions["variant__b"][-1].active_version == 1

    done = cli("kb", "load-variants", file, *reason, "--yes")
    assert (done.code, rows(done.out)) == (0, {"b": "withdrawn"})
    assert "0 new, 0 changed, 1 unchanged, 1 withdrawn, 0 failed" in done.out
    assert ingest.versions["variant__b"][-1].state == docs.DOCUMENT_STATE_WITHDRAWN
    assert ingest.events[-1].reason == "merged into a"
    assert ingest.versions["note"][-1].active_version == 1, "no variant"

    # What was taken away does not come back by itself.
    both = write(a=9, b=8)
    assert rows(cli("kb", "load-variants", both).out)["b"].startswith("skipped it was withdrawn")
    reopened = cli("kb", "load-variants", both, "--reopen")
    assert rows(reopened.out)["b"] == "new it was withdrawn before"
    assert ingest.versions["variant__b"][-1].state == docs.DOCUMENT_STATE_INDEXED


def test_waiting_for_review(cli: Cli, ingest: FakeIngest, write: Writer) -> None:
    ingest.review = True
    done = cli("kb", "load-variants", write(a=9))
    assert done.code == 0
    assert rows(done.out) == {"a": "new waits for review"}
    assert "  radref kb approve variant__a" in done.out
    again = cli("kb", "load-variants", write(a=9))
    assert rows(again.out) == {"a": "unchanged version 1 waits for review"}
    assert "  radref kb approve variant__a" in again.out
    assert cli("kb", "reject", "variant__a", "--comment", "no").code == 0
    assert rows(cli("kb", "load-variants", write(a=9)).out)["a"].startswith("skipped version 1 was rejected")
    assert rows(cli("kb", "load-variants", write(a=9), "--reopen").out)["a"].startswith("changed")
    assert cli("kb", "approve", "variant__a").code == 0
    assert rows(cli("kb", "load-variants", write(a=9)).out) == {}


def test_failures_are_told_and_nothing_is_withdrawn(cli: Cli, ingest: FakeIngest, write: Writer) -> None:
    cli("kb", "load-variants", write(old=9))
    ingest.failing["b.md"] = ingest_pb2.JobFailure(
        reason=errors_pb2.ERROR_REASON_BACKEND_UNAVAILABLE, message="The index is down.", retryable=True
    )
    done = cli("kb", "load-variants", write(a=9, b=8), "--withdraw-missing", "--reason", "renamed", "--yes")
    assert done.code == 1
    found = rows(done.out)
    assert found["a"] == "new"
    assert "BACKEND_UNAVAILABLE: The index is down. To try again: radref kb retry" in found["b"]
    assert found["old"] == "not in the file not withdrawn, because a variant failed"
    assert ingest.versions["variant__old"][-1].active_version == 1


def test_nothing_is_sent_of_a_file_with_a_mistake(cli: Cli, ingest: FakeIngest, write: Writer) -> None:
    done = cli("kb", "load-variants", write(a=9, b=12))
    assert done.code == 2
    assert "kb.yaml:22: rating of procedure 1" in done.err
    assert ingest.versions == {}


def test_ingest_names_the_command_for_such_a_file(cli: Cli, ingest: FakeIngest, write: Writer) -> None:
    for path in (write(a=9), write(a=9).parent):
        done = cli("ingest", "--topic", "consult", path)
        assert done.code == 1
        assert "radref kb load-variants" in done.out
    assert ingest.versions == {}
