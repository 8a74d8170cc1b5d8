"""The sample documents: complete, described, marked as invented, and of the kinds they are meant to be."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from radref.errors import InvalidInput
from tests.samples.sample_texts import DOCUMENTS, parsed, read_lines, text_of

FIELDS = {"doc_id", "file", "title", "topic", "language", "source_category", "licence", "source", "year"}
TOPICS = {"safety", "physics", "regulatory", "anatomy", "reference-values", "glossary", "report-templates"}
MARKS = {
    "en": "Invented sample for testing radref. Not clinical or legal guidance.",
    "ru": "Вымышленный образец для проверки radref. Не является медицинским или правовым руководством.",
}
MAX_BYTES = 100_000


ENTRIES = read_lines(DOCUMENTS / "manifest.jsonl")
WITH_TEXT = [entry for entry in ENTRIES if not entry["file"].endswith(".png")]


def test_manifest_names_every_file_once() -> None:
    files = sorted(path.name for path in DOCUMENTS.iterdir() if path.name != "manifest.jsonl")
    assert sorted(entry["file"] for entry in ENTRIES) == files
    assert len({entry["doc_id"] for entry in ENTRIES}) == len(ENTRIES)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry["doc_id"])
def test_entry_is_complete(entry: dict[str, Any]) -> None:
    assert set(entry) == FIELDS
    assert entry["topic"] in TOPICS
    assert entry["language"] in MARKS
    assert entry["source_category"] == "invented-sample"
    assert entry["source"]["path"] == f"samples/documents/{entry['file']}"
    assert Path(entry["file"]).stem == entry["doc_id"]
    assert 2000 <= entry["year"] <= 2100
    assert (DOCUMENTS / entry["file"]).stat().st_size < MAX_BYTES


def test_counts() -> None:
    assert len(ENTRIES) >= 24
    assert {entry["topic"] for entry in ENTRIES} == TOPICS
    for topic in TOPICS:
        assert {entry["language"] for entry in ENTRIES if entry["topic"] == topic} == {"en", "ru"}
    languages = Counter(entry["language"] for entry in ENTRIES)
    assert languages["en"] >= 16
    assert languages["ru"] >= 12
    formats = Counter(Path(entry["file"]).suffix for entry in ENTRIES)
    assert formats[".png"] == 1
    assert all(formats[suffix] >= 6 for suffix in (".md", ".html", ".docx", ".pdf"))


@pytest.mark.parametrize("entry", WITH_TEXT, ids=lambda entry: entry["doc_id"])
def test_document_is_marked_and_structured(entry: dict[str, Any]) -> None:
    document = parsed(entry["file"])
    text = text_of(entry["file"])
    assert MARKS[entry["language"]] in " ".join(text.split())
    assert 200 <= len(text.split()) <= 1400
    assert {block.level for block in document.blocks if block.level} >= {1, 2}
    assert entry["language"] == document.report.language


@pytest.mark.parametrize("entry", WITH_TEXT, ids=lambda entry: entry["doc_id"])
def test_page_furniture_is_gone(entry: dict[str, Any]) -> None:
    text = text_of(entry["file"])
    assert not re.search(r"cookie|dataLayer|Newsletter|Карта сайта|console\.log", text, re.IGNORECASE)


def test_scan_is_refused_for_lack_of_text() -> None:
    with pytest.raises(InvalidInput) as caught:
        parsed("safety-theatre-notice-scan.png")
    assert caught.value.reason == "NO_TEXT"


@pytest.mark.parametrize(
    ("file", "first", "last"),
    [
        ("physics-ct-dose-levels.pdf", "| Head, trauma | adult |", "| Wrist or elbow | adult |"),
        ("physics-kontrol-kachestva-ru.pdf", "| Напряжение, 60-90 кВ |", "| Освещённость у монитора |"),
    ],
)
def test_table_over_two_pages_is_read_on_both(file: str, first: str, last: str) -> None:
    text = text_of(file)
    assert parsed(file).report.pages == 2
    assert first in text
    assert last in text
