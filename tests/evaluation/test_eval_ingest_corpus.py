from __future__ import annotations

import json
from pathlib import Path

import pytest

from evaluation.ingest_corpus import Upload, UploadResult, corpus_uploads, ingest
from radref.api.common.v1 import documents_pb2, errors_pb2
from radref.api.ingest.v1 import ingest_pb2
from radref.client import RadrefClient
from radref.errors import InvalidInput
from tests.evaluation.eval_fake_system import FakeIngest, serving

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data" / "corpus"


def upload(name: str, data: bytes = b"text") -> Upload:
    metadata = documents_pb2.DocumentMetadata(title=name, topic="safety", language="en")
    return Upload(name, f"{name}.md", metadata, lambda: data)


async def ingested(
    fake: FakeIngest, *uploads: Upload, window: int = 4
) -> tuple[list[UploadResult], list[str]]:
    told: list[str] = []
    async with serving(ingest=fake) as address, RadrefClient(gateway=address, ingest=address) as client:
        results = await ingest(
            client, uploads, window=window, on_result=lambda result: told.append(result.document_id)
        )
    return results, told


async def test_every_document_gets_its_result_in_order() -> None:
    failure = ingest_pb2.JobFailure(reason=errors_pb2.ERROR_REASON_NO_TEXT, message="nothing to read")
    fake = FakeIngest(failing={"b.md": failure})
    results, told = await ingested(fake, upload("a"), upload("b"), upload("c"))
    assert [(result.document_id, result.status) for result in results] == [
        ("a", "indexed"),
        ("b", "refused"),
        ("c", "indexed"),
    ]
    assert results[1].reason == "NO_TEXT: nothing to read"
    assert sorted(told) == ["a", "b", "c"]


async def test_the_window_is_kept() -> None:
    fake = FakeIngest()
    results, _ = await ingested(fake, *(upload(f"d{number}") for number in range(20)), window=3)
    assert len(results) == 20
    assert 1 <= fake.most_in_flight <= 3


async def test_large_files_arrive_whole() -> None:
    data = bytes(range(256)) * 6000
    fake = FakeIngest()
    await ingested(fake, upload("large", data))
    assert fake.stored["large"] == data


async def test_a_busy_or_restarting_service_is_asked_again() -> None:
    results, _ = await ingested(FakeIngest(overloaded=3, broken_streams=2), upload("a"), window=1)
    assert results[0].status == "indexed"


async def test_a_file_that_cannot_be_read_does_not_stop_the_others(tmp_path: Path) -> None:
    missing = Upload("m", "m.md", documents_pb2.DocumentMetadata(), (tmp_path / "m.md").read_bytes)
    results, _ = await ingested(FakeIngest(), missing, upload("a"))
    assert [result.status for result in results] == ["refused", "indexed"]
    assert "cannot be read" in results[0].reason


async def test_duplicates_keep_the_id_of_the_stored_document() -> None:
    there = ingest_pb2.DocumentSummary(
        document_id="old", active_version=1, state=documents_pb2.DOCUMENT_STATE_INDEXED
    )
    gone = ingest_pb2.DocumentSummary(document_id="gone", state=documents_pb2.DOCUMENT_STATE_WITHDRAWN)
    fake = FakeIngest(existing={b"same": there, b"gone": gone})
    results, told = await ingested(fake, upload("new", b"same"), upload("x", b"gone"))
    assert (results[0].status, results[0].stored_id) == ("duplicate", "old")
    assert results[1].status == "refused"
    assert "withdrawn" in results[1].reason
    assert sorted(told) == ["new", "x"]


def test_a_manifest_becomes_uploads(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("text", encoding="utf-8")
    rows = [{"file": "a.md", "doc_id": "A", "title": "T", "topic": "safety", "language": "en"}]
    (tmp_path / "manifest.jsonl").write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    (only,) = corpus_uploads(tmp_path)
    assert (only.document_id, only.file_name, only.metadata.topic, only.read()) == (
        "A",
        "a.md",
        "safety",
        b"text",
    )


def test_a_folder_without_manifest_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"manifest\.jsonl"):
        corpus_uploads(tmp_path)


@pytest.mark.data
def test_the_shared_corpus_is_read() -> None:
    if not SHARED.is_dir():
        pytest.skip("the shared data folder is not there")
    uploads = corpus_uploads(SHARED)
    assert len(uploads) == 136
    assert all(item.metadata.topic and item.read() for item in uploads)
