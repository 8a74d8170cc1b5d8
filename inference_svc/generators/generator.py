"""What the service needs of a generator: text from a conversation or from passages, piece by piece."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol


class Role(Enum):
    """Who speaks in a conversation."""

    SYSTEM = "system"
    USER = "user"


class Finish(Enum):
    """Why a generation ended."""

    STOP = "stop"
    LENGTH = "length"


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation."""

    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class Grounding:
    """A passage that may be quoted.

    Attributes:
        citation_id: id to cite.
        title: of its document.
        section_path: headings, outermost first.
        text: Markdown.
        hits: [start, end) in code points of what retrieval hit, best first.
        score: of the search or the reranker, >= 0; only its order and its share of the best one's mean
            something. 0 = not told.
    """

    citation_id: str
    title: str
    section_path: tuple[str, ...]
    text: str
    hits: tuple[tuple[int, int], ...]
    score: float = 0.0


@dataclass(frozen=True, slots=True)
class GenerationInput:
    """A checked request.

    Attributes:
        messages: what a language model gets, at least one.
        query, passages: question and passages by themselves, for generators that quote; best passage first.
        json_schema: the output must follow it; empty = free text.
        max_tokens: upper bound; 0 = the model's setting.
    """

    messages: Sequence[Message]
    query: str
    passages: Sequence[Grounding]
    json_schema: str
    max_tokens: int


@dataclass(frozen=True, slots=True)
class Delta:
    """The next piece of text."""

    text: str


@dataclass(frozen=True, slots=True)
class Summary:
    """The end of a generation; token counts are 0 where the generator does not count."""

    finish: Finish
    prompt_tokens: int
    completion_tokens: int


@dataclass(frozen=True, slots=True)
class GeneratorDescription:
    """What callers must know of a generator.

    Attributes:
        id: model id, e.g. "extractive".
        backend: what runs it.
        fingerprint: 16 hexadecimal digits; changes whenever the same input may yield another output.
        window: tokens it reads at once; 0 = no limit.
    """

    id: str
    backend: str
    fingerprint: str
    window: int


class Generator(Protocol):
    """Text from a prompt."""

    @property
    def id(self) -> str:
        """Id by which a request picks it."""

    @property
    def description(self) -> GeneratorDescription:
        """What callers must know of the generator.

        Raises:
            Unavailable: NOT_READY while something it depends on has never answered.
        """

    def generate(self, request: GenerationInput) -> AsyncGenerator[Delta | Summary, None]:
        """Deltas in order, then exactly one summary. Closing the iterator stops the generation.

        Raises:
            Unavailable: the backend does not answer, or died in the middle.
            Overloaded: too many wait, or the backend refuses for load; `retry_after` is set.
            DeadlineExceeded: the caller's deadline passed; the backend was told to stop.
            Internal: the backend answers something that is no answer.
        """

    async def check(self) -> None:
        """The first time one real request, then a cheaper one; raises what it raises."""

    async def close(self) -> None:
        """Stops what is running."""
