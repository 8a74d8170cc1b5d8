"""A site with functional questions and a watched folder: the real processes."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from radref.api.common.v1 import documents_pb2
from radref.api.ingest.v1 import ingest_pb2
from radref.client import RadrefClient
from tests.e2e.conftest import start, stop

pytestmark = pytest.mark.e2e

METADATA = documents_pb2.DocumentMetadata(topic="safety", language="en")
GOOD = b"# Numbat room\n\nThe numbat room holds nine aprons.\n"
OTHER = b"# Wallaby room\n\nHow many aprons the wallaby room holds is written on its door.\n"
BAD = b"# Store\n\nThe store was closed.\n"
WATCHED_SECONDS = 60


async def end(client: RadrefClient, job_id: str) -> ingest_pb2.Job:
    last = None
    async for job in client.watch_job(job_id):
        last = job
    assert last is not None
    return last


async def test_a_version_that_loses_an_answer_does_not_go_live(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    questions = tmp_path / "functional.jsonl"
    questions.write_text(
        json.dumps({"query": "How many aprons does the numbat room hold?", "documents": ["numbat"]}) + "\n"
    )
    monkeypatch.setenv("RADREF_INGEST_FUNCTIONAL_CHECK__TOP", "1")
    folder = tmp_path / "acts"
    folder.mkdir()
    (folder / "wombat.md").write_text("# Wombat act\n\nThe wombat act is in force.\n")
    monkeypatch.setenv("RADREF_INGEST_FUNCTIONAL_CHECK__QUESTIONS", str(questions))
    source = {"name": "acts", "folder": str(folder), "topic": "regulatory", "trusted": False}
    monkeypatch.setenv("RADREF_INGEST_WATCH__SOURCES", json.dumps([source]))
    monkeypatch.setenv("RADREF_INGEST_WATCH__INTERVAL_SECONDS", "10")
    running = start(tmp_path / "data")
    try:
        async with running.client() as client:
            other = await client.submit_file(OTHER, "wallaby.md", METADATA, document_id="wallaby")
            assert (await end(client, other.job_id)).stage == ingest_pb2.JOB_STAGE_DONE
            first = await client.submit_file(GOOD, "numbat.md", METADATA, document_id="numbat")
            assert (await end(client, first.job_id)).stage == ingest_pb2.JOB_STAGE_DONE
            worse = await client.kb.replace_file("numbat", BAD, "numbat.md", METADATA)
            failed = await end(client, worse.job_id)
            assert failed.stage == ingest_pb2.JOB_STAGE_FAILED
            assert "line 1" in failed.failure.message
            assert "How many aprons" in failed.failure.message
            found = await client.search("numbat room aprons")
            assert found.ranked_parents[0].passage.version == 1
            report = await client.kb.verify_index()
            assert not report.divergences

            # Although uploads are trusted here, what comes from the folder waits for a reviewer.
            async with asyncio.timeout(WATCHED_SECONDS):
                while True:
                    states = {
                        document.submitted_by: document.state async for document in client.list_documents()
                    }
                    if states.get("source-watch:acts") == documents_pb2.DOCUMENT_STATE_PARSED:
                        break
                    await asyncio.sleep(0.2)
            assert len(await client.kb.list_watched_files()) == 1
    finally:
        stop(running)
