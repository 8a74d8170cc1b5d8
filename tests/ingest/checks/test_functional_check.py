"""Functional check: which failures block a version, and files that cannot be used."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from ingest_svc.functional_check import FunctionalCheck, read_questions
from radref.errors import PreconditionFailed, Unavailable


class FixedSearch:
    """Answers by query, with another answer while something is previewed."""

    def __init__(self, live: Mapping[str, Sequence[str]], previewed: Mapping[str, Sequence[str]]) -> None:
        self._live, self._previewed = live, previewed
        self.tops: set[int] = set()

    async def find_documents(self, query: str, *, top: int, preview: tuple[str, int] | None) -> Sequence[str]:
        self.tops.add(top)
        return (self._live if preview is None else self._previewed).get(query, ())


def questions(folder: Path, *lines: object) -> Path:
    path = folder / "functional.jsonl"
    path.write_text(
        "\n".join(json.dumps(line, ensure_ascii=False) for line in lines) + "\n", encoding="utf-8"
    )
    return path


LIMIT = {"query": "Предел дозы?", "documents": ["nrb", "sanpin"]}
SCREEN = {"query": "Which screen?", "documents": ["quality"]}


async def test_a_version_that_answers_passes(tmp_path: Path) -> None:
    search = FixedSearch({}, {"Предел дозы?": ["other", "sanpin"], "Which screen?": ["quality"]})
    await FunctionalCheck(questions=questions(tmp_path, LIMIT, SCREEN), search=search, top=7).run("nrb", 2)
    assert search.tops == {7}


async def test_a_question_of_its_own_that_fails_blocks_it_even_if_it_failed_before(tmp_path: Path) -> None:
    search = FixedSearch({}, {"Which screen?": ["quality"]})
    check = FunctionalCheck(questions=questions(tmp_path, SCREEN, LIMIT), search=search, top=5)
    with pytest.raises(PreconditionFailed, match=r"1 of 2 .*functional.jsonl, line 2: Предел дозы") as failed:
        await check.run("nrb", 2)
    assert failed.value.reason == "FUNCTIONAL_CHECK_FAILED"
    assert failed.value.metadata == {"lines": "2"}


async def test_a_question_of_others_blocks_only_what_broke_it(tmp_path: Path) -> None:
    path = questions(tmp_path, SCREEN)
    await FunctionalCheck(questions=path, search=FixedSearch({}, {}), top=5).run("nrb", 2)
    broken = FixedSearch({"Which screen?": ["quality"]}, {"Which screen?": ["nrb"]})
    with pytest.raises(PreconditionFailed, match="line 1"):
        await FunctionalCheck(questions=path, search=broken, top=5).run("nrb", 2)


async def test_an_outage_is_no_failed_check(tmp_path: Path) -> None:
    class Down:
        async def find_documents(
            self, query: str, *, top: int, preview: tuple[str, int] | None
        ) -> Sequence[str]:
            raise Unavailable("away")

    check = FunctionalCheck(questions=questions(tmp_path, LIMIT), search=Down(), top=5)
    with pytest.raises(Unavailable):
        await check.run("nrb", 2)


async def test_questions_changed_meanwhile_count(tmp_path: Path) -> None:
    path = questions(tmp_path, SCREEN)
    check = FunctionalCheck(questions=path, search=FixedSearch({}, {}), top=5)
    questions(tmp_path, LIMIT)
    with pytest.raises(PreconditionFailed, match="line 1"):
        await check.run("nrb", 2)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"query": "a", "documents": ["b"]}\n{"query"', "line 2 is not JSON"),
        ('\n\n["query"]', "line 3 must hold"),
        ('{"query": " ", "documents": ["b"]}', "line 1: query"),
        ('{"query": "a", "documents": []}', "line 1: documents"),
        ('{"query": "a", "documents": "b"}', "line 1: documents"),
        ('{"query": "a", "documents": ["b"], "topic": "x"}', "line 1 must hold"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_with_its_line(tmp_path: Path, text: str, why: str) -> None:
    path = tmp_path / "q.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(PreconditionFailed, match=why):
        FunctionalCheck(questions=path, search=FixedSearch({}, {}), top=5)


def test_a_missing_or_undecodable_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PreconditionFailed, match="cannot be read"):
        read_questions(tmp_path / "missing.jsonl")
    (tmp_path / "cp1251.jsonl").write_bytes("вопрос".encode("cp1251"))
    with pytest.raises(PreconditionFailed, match="cannot be read"):
        read_questions(tmp_path / "cp1251.jsonl")
    (tmp_path / "empty.jsonl").write_text("")
    assert read_questions(tmp_path / "empty.jsonl") == []
