"""The site's functional questions, asked of a staged version before it goes live (Paper A, re-indexing).

A file with a JSON object a line: {"query": "...", "documents": ["id", ...]}. A question is answered when one
of its documents is among the first passages found. It counts against a version only where the version is to
blame: it is one of the documents that the question expects, or the question is answered without it and not
with it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import shorten
from typing import Protocol

import structlog

from radref.errors import PreconditionFailed, RadrefError

MAX_QUERY = 20_000
# Questions named in a failure; the rest is counted.
MAX_NAMED = 5
SHOWN = 80

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Question:
    """A question and the documents of which one must be found. `line`: of its file, from 1."""

    line: int
    query: str
    documents: tuple[str, ...]


class Search(Protocol):
    """The retrieval service."""

    async def find_documents(self, query: str, *, top: int, preview: tuple[str, int] | None) -> Sequence[str]:
        """Document ids of the first `top` passages, best first.

        Args:
            preview: (document id, version) that is staged and searched as if it were live; None = as it is.
        """
        ...


class FunctionalCheck:
    """Asks the questions; the file is read anew each time, so that curators may change it."""

    def __init__(self, *, questions: Path, search: Search, top: int, concurrency: int = 4) -> None:
        """
        Args:
            questions: the file.
            top: passages among which a document must be, 1-1000.
            concurrency: questions asked at once, >= 1.

        Raises:
            PreconditionFailed: FUNCTIONAL_CHECK_FAILED, the file cannot be read; the line is named.
        """
        self._path = questions
        self._search = search
        self._top = top
        self._places = asyncio.Semaphore(concurrency)
        read_questions(questions)

    async def run(self, document_id: str, version: int) -> None:
        """Checks a staged version.

        Raises:
            PreconditionFailed: FUNCTIONAL_CHECK_FAILED, naming the lines of the questions that failed.
            Unavailable: the retrieval service does not answer.
        """
        questions = await asyncio.to_thread(read_questions, self._path)
        blamed = await self._blamed(questions, document_id, version)
        failed = [question for question, blame in zip(questions, blamed, strict=True) if blame]
        if not failed:
            log.info(
                "functional check passed", document_id=document_id, version=version, questions=len(blamed)
            )
            return
        # The site's own questions, not a user's: they may be named.
        named = "; ".join(f"line {one.line}: {shorten(one.query, SHOWN)}" for one in failed[:MAX_NAMED])
        more = f"; and {len(failed) - MAX_NAMED} more" if len(failed) > MAX_NAMED else ""
        raise PreconditionFailed(
            f"{len(failed)} of {len(questions)} functional questions do not find their documents with this "
            f"version ({self._path.name}, {named}{more}). What was searched before goes on serving.",
            reason="FUNCTIONAL_CHECK_FAILED",
            metadata={"lines": ",".join(str(question.line) for question in failed)},
        )

    async def _blamed(self, questions: Sequence[Question], document_id: str, version: int) -> list[bool]:
        try:
            async with asyncio.TaskGroup() as group:
                asked = [group.create_task(self._is_blamed(each, document_id, version)) for each in questions]
        except* RadrefError as failures:
            # The job's policy judges one error, not a group of equal ones.
            raise next(_leaves(failures)) from None
        return [task.result() for task in asked]

    async def _is_blamed(self, question: Question, document_id: str, version: int) -> bool:
        if await self._is_answered(question, (document_id, version)):
            return False
        return document_id in question.documents or await self._is_answered(question, None)

    async def _is_answered(self, question: Question, preview: tuple[str, int] | None) -> bool:
        async with self._places:
            found = await self._search.find_documents(question.query, top=self._top, preview=preview)
        return not set(question.documents).isdisjoint(found)


def _leaves(group: BaseExceptionGroup[RadrefError]) -> Iterator[RadrefError]:
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from _leaves(error)
        else:
            yield error


def read_questions(path: Path) -> list[Question]:
    """Questions of a file; empty lines are skipped.

    Raises:
        PreconditionFailed: FUNCTIONAL_CHECK_FAILED, naming the file and the line that is not as it should be.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as exc:
        raise _unusable(path, f"it cannot be read ({type(exc).__name__})") from None
    return [_question(path, number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]


def _question(path: Path, number: int, line: str) -> Question:
    try:
        value = json.loads(line)
    except json.JSONDecodeError:
        raise _unusable(path, f"line {number} is not JSON") from None
    if not isinstance(value, dict) or set(value) != {"query", "documents"}:
        raise _unusable(path, f'line {number} must hold exactly "query" and "documents"')
    query, documents = value["query"], value["documents"]
    if not isinstance(query, str) or not query.strip() or len(query) > MAX_QUERY:
        raise _unusable(path, f"line {number}: query is a text of 1-{MAX_QUERY} characters")
    if (
        not isinstance(documents, list)
        or not documents
        or not all(isinstance(one, str) and one for one in documents)
    ):
        raise _unusable(path, f"line {number}: documents is a list of at least one document id")
    return Question(number, query, tuple(documents))


def _unusable(path: Path, why: str) -> PreconditionFailed:
    return PreconditionFailed(
        f"The functional questions {path} cannot be used: {why}.", reason="FUNCTIONAL_CHECK_FAILED"
    )
