from __future__ import annotations

import json
from pathlib import Path

import pytest

from evaluation.questions import load_questions
from radref.errors import InvalidInput

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"


def write(path: Path, *rows: object) -> Path:
    path.write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in rows), encoding="utf-8")
    return path


def test_both_kinds_are_read(tmp_path: Path) -> None:
    answerable = {
        "id": "a",
        "level": 1,
        "language": "ru",
        "doc_language": "en",
        "query": "Доза?",
        "gold_doc": "d",
    }
    answerable |= {"gold_quotes": ["5 mSv"], "key_facts": ["5|пять"], "gold_section": "1"}
    unanswerable = {"id": "u", "language": "en", "query": "What?", "expect": "abstain", "why": "not there"}
    first, second = load_questions(write(tmp_path / "s.jsonl", answerable, unanswerable))
    assert (first.answerable, first.level, first.language_group) == (True, "1", "ru>en")
    assert (second.answerable, second.level, second.language_group) == (False, "", "en")


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ({"id": "a", "query": "q"}, "'language' is missing"),
        ({"id": "a", "language": "en", "query": " "}, "'query'"),
        ({"id": "a", "language": "en", "query": "q"}, "gold_quotes"),
        ({"id": "a", "language": "en", "query": "q", "expect": "refuse"}, "expect"),
        ({"id": "a", "language": "en", "query": "q", "gold_quotes": "text"}, "gold_quotes"),
        (["id"], "JSON object"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, row: object, says: str) -> None:
    good = {"id": "u", "language": "en", "query": "What?", "expect": "abstain"}
    with pytest.raises(InvalidInput, match="line 2") as caught:
        load_questions(write(tmp_path / "s.jsonl", good, row))
    assert says in caught.value.message


def test_repeated_id_missing_file_and_empty_set(tmp_path: Path) -> None:
    row = {"id": "u", "language": "en", "query": "What?", "expect": "abstain"}
    with pytest.raises(InvalidInput, match="repeats"):
        load_questions(write(tmp_path / "s.jsonl", row, row))
    with pytest.raises(InvalidInput, match="Cannot read"):
        load_questions(tmp_path / "none.jsonl")
    with pytest.raises(InvalidInput, match="no question"):
        load_questions(write(tmp_path / "empty.jsonl"))


@pytest.mark.data
def test_the_shared_set_is_read() -> None:
    path = SHARED / "qa" / "qa_dev.jsonl"
    if not path.is_file():
        pytest.skip("the shared data folder is not there")
    questions = load_questions(path)
    assert sum(question.answerable for question in questions) == 68
    assert sum(not question.answerable for question in questions) == 44
    assert {q.language_group for q in questions} == {"en", "ru", "ru>en", "en>de"}
