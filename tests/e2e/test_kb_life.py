"""The knowledge base's life at the command line: the real processes, uploads waiting for a reviewer."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from radref.api.common.v1 import documents_pb2
from radref.errors import NotFound
from tests.e2e.conftest import Running, start, stop

pytestmark = pytest.mark.e2e

FIRST = """# Quokka protocol

## Shielding

The quokka apron of the department has a lead equivalent of 17 mm at 150 kV.

## Storage

Quokka aprons hang on wide bars in the numbat room and are never folded.
"""
SECOND = FIRST.replace("17 mm", "23 mm")
QUESTION = "What lead equivalent has the quokka apron?"


@pytest.fixture(scope="module")
def reviewed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    running = start(tmp_path_factory.mktemp("life"), "--review")
    try:
        yield running
    finally:
        stop(running)


def good(running: Running, *arguments: str | Path) -> str:
    done = running.cli(*map(str, arguments))
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def found(running: Running, word: str) -> list[dict[str, Any]]:
    """Passages with the word among those that a question for it brings up."""
    ranked = json.loads(good(running, "search", "--json", f"{QUESTION} {word}")).get("ranked_parents", [])
    return [item["passage"] for item in ranked if word in item["passage"]["text"]]


def test_from_upload_to_withdrawal(reviewed: Running, tmp_path: Path) -> None:
    file = tmp_path / "quokka.md"
    file.write_text(FIRST, encoding="utf-8")

    uploaded = good(reviewed, "ingest", "--topic", "safety", "--as", "Анна", file)
    assert "radref kb approve quokka.md" in uploaded
    assert found(reviewed, "17 mm") == []
    assert "1 waiting for review" in good(reviewed, "status")
    assert "parsed (not searched)" in good(reviewed, "kb", "show", "quokka.md")
    assert "lead equivalent of 17 mm" in good(reviewed, "kb", "show", "quokka.md", "--markdown")

    assert "indexed version 1 of quokka.md" in good(
        reviewed, "kb", "approve", "quokka.md", "--as", "Борис", "--comment", "как в приказе"
    )
    (cited,) = found(reviewed, "17 mm")
    assert "17 mm" in good(reviewed, "ask", QUESTION)

    file.write_text(SECOND, encoding="utf-8")
    replaced = good(reviewed, "kb", "replace", "quokka.md", file)
    assert "version 2 of quokka.md waits for review" in replaced
    assert len(found(reviewed, "17 mm")) == 1
    changed = good(reviewed, "kb", "diff", "quokka.md")
    assert re.search(r"^-.*17 mm", changed, re.MULTILINE)
    assert re.search(r"^\+.*23 mm", changed, re.MULTILINE)
    assert "numbat" not in changed
    good(reviewed, "kb", "approve", "quokka.md")
    assert found(reviewed, "17 mm") == []
    assert len(found(reviewed, "23 mm")) == 1

    source = json.loads(good(reviewed, "source", "--json", cited["citation_id"]))
    assert source["passage"]["text"] == cited["text"]
    assert source["state"] == "DOCUMENT_STATE_SUPERSEDED"
    assert re.search(r"SUPERSEDED since \d{4}-\d\d-\d\d", good(reviewed, "source", cited["citation_id"]))

    back = good(reviewed, "kb", "rollback", "quokka.md", "1", "--reason", "23 mm was a typo")
    assert "indexed version 1 of quokka.md" in back
    assert "0 children embedded" in back
    assert len(found(reviewed, "17 mm")) == 1
    assert found(reviewed, "23 mm") == []

    good(reviewed, "kb", "withdraw", "quokka.md", "--reason", "no longer used", "--yes")
    assert found(reviewed, "17 mm") == []
    assert good(reviewed, "ask", QUESTION).startswith("No answer: insufficient evidence.")
    assert "WITHDRAWN since" in good(reviewed, "source", cited["citation_id"])
    assert "was withdrawn" in good(reviewed, "ingest", "--topic", "safety", file)

    history = json.loads(good(reviewed, "kb", "history", "quokka.md", "--json"))
    assert [version["version"] for version in history["versions"]] == [1, 2]
    who = {event["action"]: event["actor"] for event in reversed(history["events"]) if event["version"] == 1}
    assert who["submitted"] == "Анна"
    assert who["approved"] == "Борис"
    assert {"rolled-back", "withdrawn"} <= set(who)
    assert "Registry and index agree." in good(reviewed, "kb", "verify")


def test_what_was_rejected_is_never_found(reviewed: Running, tmp_path: Path) -> None:
    file = tmp_path / "bilby.md"
    file.write_text("# Bilby rule\n\nThe bilby collimator opens to 31 bilbies at most.\n", encoding="utf-8")
    good(reviewed, "ingest", "--topic", "safety", file)
    good(reviewed, "kb", "reject", "bilby.md", "--comment", "not ours")
    assert found(reviewed, "bilbies") == []
    assert reviewed.cli("kb", "approve", "bilby.md").returncode == 1
    assert "rejected as version 1" in good(reviewed, "ingest", "--topic", "safety", file)


async def test_the_same_file_twice_at_once_is_one_document(stack: Running) -> None:
    data = b"# Wombat rule\n\nThe wombat grid holds 71 wombats in a row.\n"
    metadata = documents_pb2.DocumentMetadata(topic="glossary")
    async with stack.client() as client:
        answers = await asyncio.gather(
            client.submit_file(data, "one.md", metadata, document_id="wombat-one"),
            client.submit_file(data, "two.md", metadata, document_id="wombat-two"),
        )
        assert sorted(answer.duplicate for answer in answers) == [False, True]
        assert len({answer.document_id for answer in answers}) == 1
        (kept,) = (answer for answer in answers if not answer.duplicate)
        async for job in client.watch_job(kept.job_id):
            last = job
        try:
            assert (last.embedded, last.reused) == (last.children, 0)
            missing = ({"wombat-one", "wombat-two"} - {kept.document_id}).pop()
            with pytest.raises(NotFound):
                await client.kb.list_versions(missing)
        finally:
            await client.withdraw_document(kept.document_id, "test document")


def test_a_folder_again_embeds_only_what_changed(stack: Running, tmp_path: Path) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    for name in ("potoroo", "bettong", "дунарт"):
        # No sentence twice: equal children of one document would share a vector.
        sections = "\n".join(
            f"## {name} {number}\n\n"
            + " ".join(
                f"Reading {turn} of the {name} phantom {number} is taken weekly." for turn in range(60)
            )
            + "\n"
            for number in range(8)
        )
        (folder / f"{name}.md").write_text(f"# {name}\n\n{sections}\n", encoding="utf-8")
    ids: list[str] = []
    try:
        first = good(stack, "ingest", "--topic", "glossary", folder)
        assert re.search(r"3 files: 3 indexed; \d+ parents, (\d+) children \(\1 embedded, 0 reused\)", first)
        ids = [
            document["document_id"]
            for document in json.loads(good(stack, "kb", "list", "--json", "--page-size", "3"))["documents"]
        ]
        again = good(stack, "ingest", "--topic", "glossary", folder)
        assert "3 files: 3 skipped; 0 parents, 0 children (0 embedded, 0 reused)" in again

        file = folder / "bettong.md"
        text = file.read_text(encoding="utf-8")
        file.write_text(
            text.replace("phantom 7 is taken weekly", "phantom 7 is taken daily"), encoding="utf-8"
        )
        changed = good(stack, "ingest", "--topic", "glossary", folder)
        counts = re.search(r"1 indexed, 2 skipped; .* \((\d+) embedded, (\d+) reused\)", changed)
        assert counts, changed
        embedded, reused = map(int, counts.groups())
        assert 0 < embedded <= reused
        assert [item["version"] for item in versions(stack, "bettong.md")] == [1, 2]
    finally:
        for document_id in ids:
            good(stack, "kb", "withdraw", document_id, "--reason", "test document", "--yes")


def versions(running: Running, document_id: str) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = json.loads(good(running, "kb", "history", document_id, "--json"))[
        "versions"
    ]
    return listed
