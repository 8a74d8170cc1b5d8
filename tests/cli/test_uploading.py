"""Which files `radref ingest` takes, and what the manifest says of them."""

import json
from pathlib import Path

import pytest

from radref.cli.uploading import Verdict, find_uploads, require_topics
from radref.errors import InvalidInput
from radref.manifest import load_manifest


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("a.md", "b.txt", ".hidden", "sub/c.html", ".git/d.md"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("text", encoding="utf-8")
    return tmp_path


def manifest(folder: Path, *lines: dict[str, object]) -> None:
    text = "\n".join(json.dumps(line) for line in lines)
    (folder / "manifest.jsonl").write_text(text, encoding="utf-8")


def test_a_folder_is_walked_without_hidden_files(folder: Path) -> None:
    uploads, problems = find_uploads([folder, folder / "a.md"], topic="safety", language="en")
    assert [upload.path.name for upload in uploads] == ["a.md", "b.txt", "c.html"]
    assert problems == []
    assert {upload.metadata.topic for upload in uploads} == {"safety"}


def test_the_manifest_says_what_the_options_do_not(folder: Path) -> None:
    manifest(
        folder,
        {"file": "a.md", "doc_id": "doc-a", "title": "A", "topic": "physics", "language": "ru", "year": 2020},
    )
    uploads, _ = find_uploads([folder], topic="", language="en")
    by_name = {upload.path.name: upload for upload in uploads}
    assert by_name["a.md"].document_id == "doc-a"
    assert by_name["a.md"].metadata.topic == "physics"
    assert by_name["a.md"].metadata.language == "en"
    assert by_name["b.txt"].metadata.topic == ""


def test_what_is_missing_is_reported(folder: Path) -> None:
    manifest(folder, {"file": "gone.md", "topic": "physics"})
    _, problems = find_uploads([folder, folder / "nowhere"], topic="safety", language="")
    assert {(p.path.name, p.verdict) for p in problems} == {
        ("gone.md", Verdict.FAILED),
        ("nowhere", Verdict.FAILED),
    }


def test_a_file_without_topic_is_refused_before_anything_is_sent(folder: Path) -> None:
    uploads, _ = find_uploads([folder], topic="", language="")
    with pytest.raises(InvalidInput, match="and 2 more") as caught:
        require_topics(uploads)
    assert caught.value.reason == "UNKNOWN_TOPIC"


@pytest.mark.parametrize("text", ['{"title": "no file"}', "not json", '{"file": "a"}\n{"file": "a"}'])
def test_a_broken_manifest_names_the_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "manifest.jsonl").write_text(text, encoding="utf-8")
    with pytest.raises(InvalidInput, match=r"line [12]"):
        load_manifest(tmp_path)


def test_a_structured_source_becomes_one_line(tmp_path: Path) -> None:
    manifest(tmp_path, {"file": "a", "source": {"repo": "o/r", "path": "p", "commit": "abc"}})
    assert load_manifest(tmp_path)["a"].metadata().source == "o/r p@abc"
