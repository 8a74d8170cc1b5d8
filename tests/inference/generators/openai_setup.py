"""What the tests of the OpenAI-compatible generator share: a generator for a stand-in, and how to run it."""

from __future__ import annotations

from contextlib import aclosing
from typing import Any

import pytest

from inference_svc.generators.generator import (
    Delta,
    GenerationInput,
    Message,
    Role,
    Summary,
)
from inference_svc.generators.openai_compatible import OpenAIGenerator, Thinking
from inference_svc.places import Places
from radref.errors import RadrefError
from tests.inference.openai_standin import Exchange, Script

CHAT = "/v1/chat/completions"
MODELS = "/v1/models"
QUESTION = "Какова предельная доза для персонала?"
SCHEMA = '{"type": "object", "properties": {"dose": {"type": "string"}}}'


def generator(url: str, **changes: Any) -> OpenAIGenerator:
    fields: dict[str, Any] = {
        "id": "qwen",
        "base_url": f"{url}/v1",
        "upstream_model": "Qwen/Qwen3",
        "api_key": "",
        "thinking": Thinking.CHAT_TEMPLATE_KWARGS,
        "places": places(),
        "observe_compute": lambda seconds: None,
        "max_tokens": 64,
        "window": 4096,
        "timeout": 20.0,
        "idle": 10.0,
        "first_pause": 0.01,
    }
    return OpenAIGenerator(**(fields | changes))


def places(concurrent: int = 8, waiting: int = 8) -> Places:
    return Places("language model", concurrent=concurrent, waiting=waiting, observe_wait=lambda seconds: None)


def asked(json_schema: str = "", max_tokens: int = 0) -> GenerationInput:
    messages = [Message(Role.SYSTEM, "Отвечай только по контексту."), Message(Role.USER, QUESTION)]
    return GenerationInput(messages, QUESTION, [], json_schema, max_tokens)


async def pieces(made: OpenAIGenerator, request: GenerationInput | None = None) -> list[Delta | Summary]:
    async with aclosing(made.generate(request or asked())) as found:
        return [piece async for piece in found]


async def text(made: OpenAIGenerator, request: GenerationInput | None = None) -> str:
    return "".join(piece.text for piece in await pieces(made, request) if isinstance(piece, Delta))


async def failure(url: str, **changes: Any) -> RadrefError:
    made = generator(url, **changes)
    try:
        with pytest.raises(RadrefError) as caught:
            await pieces(made)
    finally:
        await made.close()
    assert QUESTION not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    return caught.value


def writes(*texts: str, finish: str = "stop") -> Script:
    async def script(exchange: Exchange) -> None:
        await exchange.begin()
        await exchange.content(*texts)
        await exchange.end(finish)

    return script


def refuses(status: int, body: object = None, **headers: str) -> Script:
    async def script(exchange: Exchange) -> None:
        # Servers quote the request in their errors; it must not come through.
        said = {"error": {"message": f"bad: {QUESTION}", "type": "BadRequestError", "code": status}}
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        await exchange.answer(status, said if body is None else body, named)

    return script


async def stalls(exchange: Exchange) -> None:
    """Writes a little, then nothing more."""
    await exchange.begin()
    await exchange.content("Пре")
    await exchange.hang()
