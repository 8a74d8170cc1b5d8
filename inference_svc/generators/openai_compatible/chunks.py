"""The parts of a streamed chat completion that radref reads, checked: a server may send anything."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

# What a uint32 of inference.proto holds.
_Count = Annotated[int, Field(ge=0, le=2**32 - 1)]


def _whole(text: str) -> str:
    """Half of a surrogate pair is legal in JSON, but no text: it raises UnicodeEncodeError, a ValueError."""
    text.encode("utf-8")
    return text


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)


class Delta(_Part):
    """New text; the reasoning fields are vLLM's and Ollama's, then DeepSeek's and llama.cpp's."""

    content: Annotated[str, AfterValidator(_whole)] | None = None
    reasoning: object = None
    reasoning_content: object = None


class Choice(_Part):
    """The answer; there is only one, as only one is asked for."""

    delta: Delta | None = None
    finish_reason: str | None = None


class Usage(_Part):
    """Tokens; some servers leave out one or the other."""

    prompt_tokens: _Count | None = None
    completion_tokens: _Count | None = None


class Chunk(_Part):
    """One event of the stream; without a choice where it only brings the usage."""

    choices: list[Choice] = Field(max_length=1)
    usage: Usage | None = None


def read_chunk(data: object) -> Chunk | None:
    """The chunk in the JSON of an event; None where it is none."""
    try:
        return Chunk.model_validate(data)
    except ValidationError:
        return None
