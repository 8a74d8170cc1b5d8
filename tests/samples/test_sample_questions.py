"""The sample questions: quotes stand in their documents, facts in the answers, and both files agree."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from tests.samples.sample_texts import DOCUMENTS, SAMPLES, read_lines, text_of

QA = read_lines(SAMPLES / "qa.jsonl")
ANSWERABLE = [entry for entry in QA if "gold_doc" in entry]
REFUSED = [entry for entry in QA if entry.get("expect") == "abstain"]
MANIFEST = {entry["doc_id"]: entry for entry in read_lines(DOCUMENTS / "manifest.jsonl")}


def document_text(doc_id: str) -> str:
    return " ".join(text_of(MANIFEST[doc_id]["file"]).split())


def test_counts() -> None:
    assert len(QA) == len(ANSWERABLE) + len(REFUSED)
    assert len({entry["id"] for entry in QA}) == len(QA)
    assert len({entry["query"] for entry in QA}) == len(QA)
    languages = Counter((entry["language"], entry["doc_language"]) for entry in ANSWERABLE)
    assert languages["en", "en"] >= 20
    assert languages["ru", "ru"] >= 8
    assert languages["ru", "en"] == 2
    assert Counter(entry["language"] for entry in REFUSED) == {"en": 4, "ru": 2}
    assert all(entry["why"] for entry in REFUSED)
    assert {entry["level"] for entry in ANSWERABLE} == {0, 1, 2}


@pytest.mark.parametrize("entry", ANSWERABLE, ids=lambda entry: entry["id"])
def test_question_agrees_with_the_manifest(entry: dict[str, Any]) -> None:
    document = MANIFEST[entry["gold_doc"]]
    assert entry["topic"] == document["topic"]
    assert entry["doc_language"] == document["language"]
    assert not document["file"].endswith(".png")


@pytest.mark.parametrize("entry", ANSWERABLE, ids=lambda entry: entry["id"])
def test_quotes_stand_in_the_document(entry: dict[str, Any]) -> None:
    assert entry["gold_quotes"]
    for quote in entry["gold_quotes"]:
        assert quote in document_text(entry["gold_doc"])


@pytest.mark.parametrize("entry", ANSWERABLE, ids=lambda entry: entry["id"])
def test_section_is_a_heading_of_the_document(entry: dict[str, Any]) -> None:
    assert f"# {entry['gold_section']}" in document_text(entry["gold_doc"])


@pytest.mark.parametrize("entry", ANSWERABLE, ids=lambda entry: entry["id"])
def test_reference_answer_holds_every_fact(entry: dict[str, Any]) -> None:
    answer = entry["reference_answer"].lower()
    assert entry["key_facts"]
    for fact in entry["key_facts"]:
        assert any(form.lower() in answer for form in fact.split("|"))


@pytest.mark.parametrize("entry", ANSWERABLE, ids=lambda entry: entry["id"])
def test_query_does_not_copy_its_quotes(entry: dict[str, Any]) -> None:
    query = entry["query"].lower()
    for quote in entry["gold_quotes"]:
        words = quote.lower().split()
        runs = (" ".join(words[at : at + 6]) for at in range(len(words) - 5))
        assert not any(run in query for run in runs)
