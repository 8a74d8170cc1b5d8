"""Reads a generator's output while it is being written: each statement as soon as its brace closes."""

from __future__ import annotations

from typing import Final

import ijson
from pydantic import TypeAdapter, ValidationError

from gateway.answering.schema import (
    MAX_STATEMENTS,
    AnswerFormatError,
    ParsedAnswer,
    ParsedStatement,
    cleaned,
    parse_answer,
)

_ADAPTER: Final = TypeAdapter(ParsedStatement)
_THINK_BEGINS: Final = "<think>"
_THINK_ENDS: Final = "</think>"


class AnswerReader:
    """One output, fed piece by piece.

    Statements that come early are a convenience: `finish` reads the whole output again, and its word counts.
    Output that only the tolerant reader of `parse_answer` understands yields no early statements.

    Attributes:
        length: characters fed so far.
        statements: those that were handed out, in order.
    """

    def __init__(self) -> None:
        self.length = 0
        self.statements: list[ParsedStatement] = []
        self._pieces: list[str] = []
        self._before: str | None = ""
        self._found = ijson.sendable_list()
        self._parser = ijson.items_coro(self._found, "statements.item")
        self._readable = True

    def feed(self, piece: str) -> list[ParsedStatement]:
        """Takes the next piece; returns the statements that it completes."""
        self._pieces.append(piece)
        self.length += len(piece)
        if not self._readable:
            return []
        if self._before is not None:
            self._before += piece
            begin = _begin(self._before)
            if begin is None:
                return []
            piece, self._before = self._before[begin:], None
        try:
            self._parser.send(piece.encode("utf-8", "replace"))
        except (ijson.JSONError, StopIteration):
            # What follows the answer (a closing fence), or what is no strict JSON.
            self._readable = False
        return self._taken()

    def finish(self) -> ParsedAnswer:
        """The whole output.

        Raises:
            AnswerFormatError: it cannot be read, or says something else than the statements handed out.
        """
        answer = parse_answer("".join(self._pieces))
        if list(answer.statements[: len(self.statements)]) != self.statements:
            raise AnswerFormatError("the generator's output holds its statements twice")
        return answer

    def _taken(self) -> list[ParsedStatement]:
        taken: list[ParsedStatement] = []
        for item in self._found:
            if len(self.statements) == MAX_STATEMENTS:
                self._readable = False
                break
            try:
                statement = _ADAPTER.validate_python(cleaned(item))
            except (ValidationError, RecursionError):
                self._readable = False
                break
            self.statements.append(statement)
            taken.append(statement)
        del self._found[:]
        return taken


def _begin(text: str) -> int | None:
    """Where the JSON begins: behind a block of thoughts and the opening of a fence; None = not seen yet."""
    start = len(text) - len(text.lstrip("\ufeff \t\r\n"))
    head = text[start : start + len(_THINK_BEGINS)]
    if not head or (len(head) < len(_THINK_BEGINS) and _THINK_BEGINS.startswith(head)):
        return None
    if head == _THINK_BEGINS:
        end = text.find(_THINK_ENDS, start)
        if end < 0:
            return None
        start = end + len(_THINK_ENDS)
    brace = text.find("{", start)
    return None if brace < 0 else brace
