"""A checked generation request as the body of POST /chat/completions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from inference_svc.generators.generator import GenerationInput, Message
from inference_svc.generators.openai_compatible.thinking import Thinking, thinking_off
from radref.errors import InvalidInput

# OpenAI's API wants a name for the schema; servers do nothing with it.
_SCHEMA_NAME = "answer"


@dataclass(frozen=True, slots=True)
class Sampling:
    """How the model is asked.

    Attributes:
        model: name under which the server serves it.
        thinking: how thinking is turned off.
        temperature: 0 to 2.
        top_p: above 0, to 1.
        max_tokens: upper bound on generated tokens, 1 or more.
    """

    model: str
    thinking: Thinking
    temperature: float
    top_p: float
    max_tokens: int


def chat_body(request: GenerationInput, sampling: Sampling) -> dict[str, object]:
    """The body of a streamed chat completion.

    Raises:
        InvalidInput: `json_schema` is no JSON object.
    """
    bounds = [bound for bound in (request.max_tokens, sampling.max_tokens) if bound]
    body = _body(request.messages, sampling, min(bounds))
    if request.json_schema:
        body["response_format"] = {
            "type": "json_schema",
            "json_schema": {"name": _SCHEMA_NAME, "schema": _schema(request.json_schema), "strict": True},
        }
    return body


def probe_body(message: Message, sampling: Sampling) -> dict[str, object]:
    """The body of the smallest generation there is: one token."""
    return _body([message], sampling, 1)


def _body(messages: Sequence[Message], sampling: Sampling, max_tokens: int) -> dict[str, object]:
    return {
        "model": sampling.model,
        "messages": [{"role": message.role.value, "content": message.content} for message in messages],
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        # Not max_completion_tokens: older Ollama and llama.cpp know only this one, and vLLM takes both.
        "max_tokens": max_tokens,
        "stream": True,
        "stream_options": {"include_usage": True},
        **thinking_off(sampling.thinking),
    }


def _schema(text: str) -> dict[str, object]:
    try:
        schema = json.loads(text)
        # What JSON cannot express must not reach the wire: NaN, Infinity, half of a surrogate pair.
        json.dumps(schema, allow_nan=False, ensure_ascii=False).encode("utf-8")
    except (ValueError, RecursionError):
        raise InvalidInput("the JSON schema is not valid JSON", field="json_schema") from None
    if not isinstance(schema, dict):
        raise InvalidInput("the JSON schema must be a JSON object", field="json_schema")
    return schema
