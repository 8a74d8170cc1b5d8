"""Asks the generator and reads what it writes, by statements; asks once more when it is unreadable."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Final

from gateway.answering.reader import AnswerReader
from gateway.answering.schema import ANSWER_SCHEMA_JSON, AnswerFormatError, ParsedConflict, ParsedStatement
from gateway.model import GenerationEnd, PromptMessage, RankedPassage
from gateway.ports import Generating
from gateway.prompting.repair import with_repair

# A token of the models a site may serve is rarely longer; beyond, the server does not keep its cap.
CHARACTERS_A_TOKEN: Final = 16
_ATTEMPTS: Final = 2


@dataclass(frozen=True, slots=True)
class Task:
    """What the generator is asked.

    Attributes:
        model: its id.
        question, passages: by themselves, for generators that quote.
        messages: the prompt, for those that write.
        max_tokens: cap on what it may write, >= 1.
    """

    model: str
    question: str
    passages: Sequence[RankedPassage]
    messages: Sequence[PromptMessage]
    max_tokens: int


@dataclass(frozen=True, slots=True)
class DraftEnd:
    """How a draft ended; everything in it is unchecked.

    Attributes:
        readable: False: there is no whole output of the schema's shape, after a second attempt.
        cut_off: it ran into the cap on its length.
        insufficient, missing, conflicts: as the generator said; empty when it is not readable.
        generation: what wrote it; None when it was cut off here before it said so.
        tokens: (read, written) by all attempts.
    """

    readable: bool
    cut_off: bool
    generation: GenerationEnd | None
    tokens: tuple[int, int]
    insufficient: bool = False
    missing: str = ""
    conflicts: tuple[ParsedConflict, ...] = ()


async def draft(generating: Generating, task: Task) -> AsyncGenerator[ParsedStatement | DraftEnd, None]:
    """Statements in order, as soon as each is written, then one DraftEnd. Closing it stops the generator.

    Output that is not of the schema's shape is asked for once more, unless statements were handed out or
    the output was cut off at the cap: a second one would be no shorter.

    Raises:
        InvalidInput: UNKNOWN_MODEL, or the prompt does not fit into the model's window.
        Unavailable: the generator does not answer, or died in the middle.
    """
    messages = task.messages
    read = written = 0
    for attempt in range(1, _ATTEMPTS + 1):
        reader = AnswerReader()
        end: GenerationEnd | None = None
        cut_off = False
        pieces = generating.generate(
            model=task.model,
            messages=messages,
            query=task.question,
            passages=task.passages,
            json_schema=ANSWER_SCHEMA_JSON,
            max_tokens=task.max_tokens,
        )
        async with aclosing(pieces):
            async for piece in pieces:
                if isinstance(piece, GenerationEnd):
                    end = piece
                    break
                for statement in reader.feed(piece):
                    yield statement
                if reader.length > task.max_tokens * CHARACTERS_A_TOKEN:
                    cut_off = True
                    break
        if end is not None:
            read, written = read + end.prompt_tokens, written + end.completion_tokens
            cut_off = end.cut_off
        try:
            answer = reader.finish()
        except AnswerFormatError as exc:
            if attempt == _ATTEMPTS or reader.statements or cut_off:
                yield DraftEnd(readable=False, cut_off=cut_off, generation=end, tokens=(read, written))
                return
            messages = with_repair(task.messages, str(exc))
            continue
        for statement in answer.statements[len(reader.statements) :]:
            yield statement
        yield DraftEnd(
            readable=True,
            cut_off=False,
            generation=end,
            tokens=(read, written),
            insufficient=answer.insufficient,
            missing=answer.missing,
            conflicts=answer.conflicts,
        )
        return
