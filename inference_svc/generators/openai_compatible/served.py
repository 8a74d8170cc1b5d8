"""Whether a server is up and still serves the model, without making it work."""

from __future__ import annotations

import asyncio

import openai
from openai import AsyncOpenAI
from pydantic import BaseModel, ConfigDict

from inference_svc.model_server.failure import Failed, closed, failed_call, garbage, too_late
from radref.errors import Unavailable

# Ollama lists "qwen3:latest" for what a request may call "qwen3".
_DEFAULT_TAG = ":latest"


class _Model(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)

    id: str


class _Models(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)

    data: list[_Model]


async def check_served(client: AsyncOpenAI, model: str, backend: str, deadline: float) -> None:
    """Asks GET /models.

    Args:
        client: connected to the server.
        model: name under which the server serves the model.
        backend: names the model in messages.
        deadline: loop time by which the answer is due.

    Raises:
        Failed: the server does not answer, or does not list the model.
    """
    if client.is_closed():
        raise closed(backend)
    try:
        async with asyncio.timeout_at(deadline):
            answer = await client.get("/models", cast_to=object)
        listed = {served.id for served in _Models.model_validate(answer).data}
    except TimeoutError:
        raise too_late(backend) from None
    except openai.APIError as exc:
        raise failed_call(exc, backend, answering=False, field="") from None
    except (ValueError, RecursionError):  # also pydantic's ValidationError
        raise garbage(backend) from None
    if model not in listed and model + _DEFAULT_TAG not in listed:
        error = Unavailable(f'the server of the {backend} does not serve "{model}": check its upstream model')
        raise Failed(error, passing=False)
