"""Backed up while it runs, data folder lost, restored: with the commands of docs/operations.md."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Running, start, stop

pytestmark = pytest.mark.e2e

OPERATIONS = Path(__file__).parents[2] / "docs/operations.md"
QUESTION = "What lead equivalent has the quokka apron?"
BILBY = "How far does the bilby collimator open?"
RULE = "# Quokka protocol\n\n## Shielding\n\nThe quokka apron has a lead equivalent of {} mm at 150 kV.\n"
LATER = "# Numbat rule\n\nThe numbat room is locked at 22:15.\n"
WAITING = "# Bilby rule\n\nThe bilby collimator opens to 31 bilbies at most.\n"


def documented(marker: str, places: Mapping[str, Path]) -> list[list[str]]:
    """The commands of the block below `<!-- test: MARKER -->`, with the test's folders put in."""
    page = OPERATIONS.read_text("utf-8")
    block = re.search(rf"<!-- test: {marker} -->\n```sh\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    assert block, f"docs/operations.md has no block {marker}"
    text = block[1]
    for place, path in places.items():
        text = text.replace(place, str(path))
    return [words for line in text.splitlines() if (words := shlex.split(line, comments=True))]


def carry_out(commands: list[list[str]], running: Running) -> None:
    """Runs them as an operator does, `radref` against this stack."""
    for command in commands:
        if command[0] == "radref":
            good(running, *command[1:])
        else:
            subprocess.run(command, check=True, timeout=60)


def good(running: Running, *words: str | Path) -> str:
    done = running.cli(*map(str, words))
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def asked(running: Running, *words: str) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(good(running, *words))
    return answer


def cited(answer: dict[str, Any]) -> list[tuple[str, str]]:
    """Text of each statement with its citations' ids and quotations: what the reader sees."""
    return [
        (statement["text"], json.dumps([[c["citation_id"], c["quote"]] for c in statement["citations"]]))
        for statement in answer["statements"]
    ]


def trail(running: Running) -> dict[str, dict[str, Any]]:
    entries = asked(running, "audit", "list", "--json")["entries"]
    return {entry["request_id"]: entry for entry in entries}


def test_from_a_running_stack_to_a_fresh_folder(tmp_path: Path) -> None:
    data, copies, keys = tmp_path / "data", tmp_path / "backup", tmp_path / "keys"
    keys.mkdir()
    places = {
        "/var/lib/radref": data,
        "/srv/backup/radref": copies,
        "/srv/keys/radref": keys,
    }
    rule, waiting, later = (tmp_path / name for name in ("quokka.md", "bilby.md", "numbat.md"))
    running = start(data, "--review")
    try:
        rule.write_text(RULE.format(17), "utf-8")
        good(running, "ingest", "--topic", "safety", rule)
        good(running, "kb", "approve", "quokka.md")
        old = cited(asked(running, "ask", "--json", QUESTION))
        rule.write_text(RULE.format(23), "utf-8")
        good(running, "kb", "replace", "quokka.md", rule)
        good(running, "kb", "approve", "quokka.md")
        waiting.write_text(WAITING, "utf-8")
        good(running, "ingest", "--topic", "safety", waiting)
        answer = asked(running, "ask", "--json", QUESTION)
        request = answer["request_id"]
        good(running, "feedback", request, "--correctness", "5", "--comment", "as on the wall")
        before = trail(running)
        history = asked(running, "kb", "history", "quokka.md", "--json")

        carry_out(documented("backup", places), running)
        assert (keys / "audit.key").read_bytes() == (data / "gateway/audit.key").read_bytes()
        assert not list(copies.rglob("audit.key"))

        # What comes after the backup is lost, and nothing else.
        later.write_text(LATER, "utf-8")
        good(running, "ingest", "--topic", "safety", later)
    finally:
        stop(running)
    shutil.rmtree(data)

    carry_out(documented("restore", places), running)
    restored = start(data, "--review")
    try:
        # Nothing is found yet, and nothing is made up.
        assert good(restored, "ask", QUESTION).startswith("No answer")
        carry_out(documented("restore-index", {}), restored)
        again = asked(restored, "ask", "--json", QUESTION)
        assert cited(again) == cited(answer)
        assert "23 mm" in again["statements"][0]["text"]

        # A citation of a version that was superseded before the backup.
        citation = json.loads(old[0][1])[0][0]
        source = asked(restored, "source", "--json", citation)
        assert "17 mm" in source["passage"]["text"]
        assert source["state"] == "DOCUMENT_STATE_SUPERSEDED"

        after = trail(restored)
        assert {key: after[key] for key in before} == before
        same = after[again["request_id"]]
        assert same["query_hash"] == before[request]["query_hash"], "the key was put back"
        (verdict,) = asked(restored, "audit", "feedback", "--json")["entries"]
        assert (verdict["request_id"], verdict["comment"]) == (request, "as on the wall")
        now = asked(restored, "kb", "history", "quokka.md", "--json")
        assert now["versions"] == history["versions"]
        added = len(now["events"]) - len(history["events"])
        assert now["events"][added:] == history["events"]
        assert {event["action"] for event in now["events"][:added]} == {"repaired"}

        # Work goes on: what waited for a reviewer waits, and the uploads' bytes are there.
        listed = {d["document_id"] for d in asked(restored, "kb", "list", "--json")["documents"]}
        assert listed == {"quokka.md", "bilby.md"}
        good(restored, "kb", "approve", "bilby.md")
        assert "31 bilbies" in good(restored, "search", "--json", BILBY)
        assert "Registry and index agree." in good(restored, "kb", "verify")
    finally:
        stop(restored)

    # Stopped, with the index: nothing is to be mended afterwards.
    carry_out(documented("backup-with-index", places), restored)
    shutil.rmtree(data)
    good(restored, "restore", str(copies / "2026-12-02"), "--data-dir", str(data))
    (data / "gateway/audit.key").write_bytes((keys / "audit.key").read_bytes())
    (data / "gateway/audit.key").chmod(0o600)
    whole = start(data, "--review")
    try:
        assert "Registry and index agree." in good(whole, "kb", "verify")
        assert cited(asked(whole, "ask", "--json", QUESTION)) == cited(answer)
        assert "31 bilbies" in good(whole, "search", "--json", BILBY)
    finally:
        stop(whole)
