"""Question sets: one JSON object a line."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from radref.errors import InvalidInput


@dataclass(frozen=True)
class Question:
    """A question with what a right answer rests on.

    `answerable` is False where the set says `"expect": "abstain"`; the gold fields may be empty then. `level`
    is "" and `doc_language` equals `language` where the set does not say.
    """

    id: str
    query: str
    language: str
    doc_language: str
    answerable: bool
    level: str = ""
    gold_doc: str = ""
    gold_section: str = ""
    gold_quotes: tuple[str, ...] = ()
    key_facts: tuple[str, ...] = ()

    @property
    def language_group(self) -> str:
        """Language pair: "ru" for Russian over Russian, "ru>en" for Russian over English.

        Unanswerable questions have no document and count under their own language.
        """
        if self.language == self.doc_language:
            return self.language
        return f"{self.language}>{self.doc_language}"


def load_questions(path: Path) -> list[Question]:
    """Reads a question set.

    Raises:
        InvalidInput: the file is missing, a line is not JSON of the expected form, an id repeats, or the
            set is empty. The message names the line.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"Cannot read the question set {path}: {error}", field="set") from error
    questions: list[Question] = []
    seen: set[str] = set()
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            question = _question(json.loads(line))
        except (ValueError, KeyError, TypeError) as error:
            raise InvalidInput(f"{path.name}, line {number}: {_what(error)}", field="set") from error
        if question.id in seen:
            raise InvalidInput(f"{path.name}, line {number}: the id {question.id} repeats", field="set")
        seen.add(question.id)
        questions.append(question)
    if not questions:
        raise InvalidInput(f"The question set {path.name} holds no question", field="set")
    return questions


def _what(error: Exception) -> str:
    return f"the field {error} is missing" if isinstance(error, KeyError) else str(error)


def _question(row: Any) -> Question:
    if not isinstance(row, dict):
        raise ValueError("a JSON object is expected")
    language = _text(row, "language")
    expect = row.get("expect", "answer")
    if expect not in ("answer", "abstain"):
        raise ValueError('"expect" must be "answer" or "abstain"')
    question = Question(
        id=_text(row, "id"),
        query=_text(row, "query"),
        language=language,
        doc_language=row.get("doc_language") or language,
        answerable=expect == "answer",
        level="" if row.get("level") is None else str(row["level"]),
        gold_doc=row.get("gold_doc") or "",
        gold_section=row.get("gold_section") or "",
        gold_quotes=_texts(row, "gold_quotes"),
        key_facts=_texts(row, "key_facts"),
    )
    if question.answerable and not (question.gold_quotes or question.gold_doc or question.key_facts):
        raise ValueError(
            'an answerable question needs gold_quotes, gold_doc or key_facts (else "expect": "abstain")'
        )
    return question


def _text(row: dict[str, Any], key: str) -> str:
    value = row[key]
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"the field '{key}' must be a text that is not empty")
    return value


def _texts(row: dict[str, Any], key: str) -> tuple[str, ...]:
    value = row.get(key) or []
    if not isinstance(value, list) or not all(isinstance(item, str) and item.strip() for item in value):
        raise ValueError(f"the field '{key}' must be a list of texts that are not empty")
    return tuple(value)
