"""What a generator hands to the gateway: the JSON schema it must follow and the parser of what it wrote.

The order of the fields is the order of thought: look at the context, decide whether it suffices, name what is
missing and what contradicts, and only then state. Nothing in here repairs content: ids and quotations
stay as written, the validator decides about them.
"""

from __future__ import annotations

import json
import re
import unicodedata
from dataclasses import dataclass
from typing import Annotated, Any, Final

from pydantic import Field, StrictBool, StrictStr, TypeAdapter, ValidationError

MAX_STATEMENTS: Final = 64
"""More is no answer that a person reads; a model that repeats itself is stopped here."""


@dataclass(frozen=True, slots=True)
class ParsedCitation:
    """A citation as the generator wrote it: unchecked passage id and unchecked quotation."""

    id: StrictStr
    quote: StrictStr


@dataclass(frozen=True, slots=True)
class ParsedConflict:
    """A contradiction between passages that the generator reports: unchecked ids and its own words."""

    citation_ids: tuple[StrictStr, ...]
    description: StrictStr


@dataclass(frozen=True, slots=True)
class ParsedStatement:
    """One unchecked statement with its unchecked citations, possibly none."""

    text: StrictStr
    citations: Annotated[tuple[ParsedCitation, ...], Field(max_length=64)]


@dataclass(frozen=True, slots=True)
class ParsedAnswer:
    """A generator's output, shape checked and content unchecked. `analysis` is not kept.

    Attributes:
        insufficient: the generator says that the passages do not hold the whole answer.
        missing: what is missing, "" when nothing is.
        conflicts: contradictions it saw.
        statements: what it states; may be empty.
    """

    insufficient: StrictBool
    missing: StrictStr = ""
    conflicts: Annotated[tuple[ParsedConflict, ...], Field(max_length=64)] = ()
    statements: Annotated[tuple[ParsedStatement, ...], Field(max_length=MAX_STATEMENTS)] = ()


class AnswerFormatError(ValueError):
    """The output is no JSON or not of the schema's shape. The message never holds the output itself."""


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


_STRING: Final = {"type": "string"}

ANSWER_SCHEMA: Final[dict[str, Any]] = _object(
    {
        "analysis": {"type": "string", "description": "Step by step look at the context. Not shown."},
        "insufficient": {"type": "boolean", "description": "The context does not hold the whole answer."},
        "missing": {"type": "string", "description": "What is missing and how to clarify; empty if nothing."},
        "conflicts": {
            "type": "array",
            "description": "Contradictions between passages; empty if none.",
            "items": _object({"citation_ids": {"type": "array", "items": _STRING}, "description": _STRING}),
        },
        "statements": {
            "type": "array",
            "items": _object(
                {
                    "text": {"type": "string", "description": "One statement of the answer."},
                    "citations": {
                        "type": "array",
                        "items": _object(
                            {
                                "id": {"type": "string", "description": "Id of the passage."},
                                "quote": {"type": "string", "description": "Copied from it word for word."},
                            }
                        ),
                    },
                }
            ),
        },
    }
)
"""Strict JSON schema (every field required, no others), inlined: not every server resolves $ref."""

ANSWER_SCHEMA_JSON: Final = json.dumps(ANSWER_SCHEMA, ensure_ascii=False, separators=(",", ":"))
"""The schema as the text that inference.v1.GenerateRequest.json_schema carries."""

_ADAPTER: Final = TypeAdapter(ParsedAnswer)
# Far more than the largest answer that can be asked for; a server that ignores its token limit ends here.
_MAX_CHARACTERS: Final = 200_000
# Qwen3 and its kin put their thoughts into such a block unless told otherwise; a server may leave it in.
_THINK: Final = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)
_FENCE: Final = re.compile(r"\A\s*```[A-Za-z]*[ \t]*\n(.*?)\n?\s*```\s*\Z", re.DOTALL)


def parse_answer(text: str) -> ParsedAnswer:
    """Reads a generator's output.

    Tolerated, since they change no content: a leading <think> block, one code fence around the whole, raw
    line breaks and control characters inside strings, unknown fields, and fields left out that may be empty
    (analysis, missing, conflicts; statements only when `insufficient` is true). Control characters and lone
    surrogates inside strings become a space or U+FFFD, so that the result can be sent as protobuf.

    Raises:
        AnswerFormatError: no JSON object, a field of the wrong type, or more than 200,000 characters; `str()`
        names the place, not the content.
    """
    if len(text) > _MAX_CHARACTERS:
        raise AnswerFormatError(f"the generator's output is longer than {_MAX_CHARACTERS} characters")
    body = _THINK.sub("", text, count=1)
    if fenced := _FENCE.match(body):
        body = fenced.group(1)
    try:
        raw = json.loads(body.strip("\ufeff \t\r\n"), strict=False)
    except (ValueError, RecursionError) as exc:
        place = f" at character {exc.pos}" if isinstance(exc, json.JSONDecodeError) else ""
        raise AnswerFormatError(f"the generator's output is not JSON{place}") from None
    if not isinstance(raw, dict):
        raise AnswerFormatError("the generator's output is not a JSON object")
    if raw.get("insufficient") is not True and "statements" not in raw:
        raise AnswerFormatError("the generator's output has no field 'statements'")
    try:
        return _ADAPTER.validate_python(cleaned(raw))
    except ValidationError as exc:
        # Never str(exc): it repeats the input, which is passage text.
        places = ", ".join(".".join(map(str, error["loc"])) for error in exc.errors(include_input=False)[:3])
        raise AnswerFormatError(f"the generator's output is not of the answer's shape: {places}") from None
    except RecursionError:
        raise AnswerFormatError("the generator's output is nested too deeply") from None


def cleaned(value: Any) -> Any:
    """JSON values with control characters and lone surrogates made harmless, without `analysis`."""
    if isinstance(value, str):
        return "".join(_clean_character(character) for character in value)
    if isinstance(value, list):
        return [cleaned(item) for item in value]
    if isinstance(value, dict):
        return {key: cleaned(item) for key, item in value.items() if key != "analysis"}
    return value


def _clean_character(character: str) -> str:
    category = unicodedata.category(character)
    if category == "Cs":
        return "\ufffd"
    if category == "Cc" and character not in "\n\t":
        return " "
    return character
