"""The calls of vLLM's HTTP API that a reranker needs, answers checked."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, TypeVar

import openai
from openai import AsyncOpenAI
from pydantic import BaseModel, ConfigDict, Field

from inference_svc.model_server.failure import Failed, closed, failed_call, garbage, too_late
from radref.errors import Internal

_Count = Annotated[int, Field(ge=0)]
A = TypeVar("A", bound=BaseModel)


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)


class _Result(_Part):
    index: _Count
    relevance_score: float


class _Usage(_Part):
    prompt_tokens: _Count


class _Reranked(_Part):
    results: list[_Result]
    usage: _Usage


class _Tokenized(_Part):
    count: _Count
    max_model_len: Annotated[int, Field(ge=1)]


@dataclass(frozen=True, slots=True)
class Tokens:
    """Tokens of a text, and how many the model reads at once."""

    count: int
    window: int


@dataclass(frozen=True, slots=True)
class Scores:
    """Relevance of each document, 0 to 1, in the order sent; tokens of all with query and template."""

    scores: list[float]
    prompt_tokens: int


class RerankApi:
    """One model on one server.

    Args:
        client: connected to the server's root, not to "/v1".
        model: name under which the server serves the model.
        backend: names the model in messages, e.g. "reranker qwen3-reranker".
    """

    def __init__(self, client: AsyncOpenAI, model: str, backend: str) -> None:
        self._client = client
        self._model = model
        self._backend = backend

    async def tokens(self, text: str, deadline: float) -> Tokens:
        """POST /tokenize, without special tokens of the model's own.

        Raises:
            Failed: the server does not answer until `deadline`, a loop time, or not as it should.
        """
        body = {"model": self._model, "prompt": text, "add_special_tokens": False}
        answer = await self._post("/tokenize", body, _Tokenized, deadline)
        return Tokens(answer.count, answer.max_model_len)

    async def rerank(self, query: str, documents: Sequence[str], instruction: str, deadline: float) -> Scores:
        """POST /rerank, which Jina and Cohere defined.

        Args:
            query, documents: what the server puts together.
            instruction: for the server's chat template; empty = none is sent.
            deadline: loop time by which the answer is due.

        Raises:
            Failed: the server does not answer in time, says that the texts are too long (TEXT_TOO_LONG), or
                answers something that is not one score between 0 and 1 for each document.
        """
        body: dict[str, object] = {"model": self._model, "query": query, "documents": list(documents)}
        if instruction:
            body["instruction"] = instruction
        answer = await self._post("/rerank", body, _Reranked, deadline)
        scores = {result.index: result.relevance_score for result in answer.results}
        if len(answer.results) != len(documents) or sorted(scores) != list(range(len(documents))):
            raise garbage(self._backend)
        if not all(0.0 <= score <= 1.0 for score in scores.values()):  # NaN is not either
            error = Internal(
                f"the {self._backend} answers scores that are not between 0 and 1: "
                "check how its server was told to turn the model into a reranker"
            )
            raise Failed(error, passing=False)
        return Scores([scores[index] for index in range(len(documents))], answer.usage.prompt_tokens)

    async def _post(self, path: str, body: dict[str, object], kind: type[A], deadline: float) -> A:
        if self._client.is_closed():
            raise closed(self._backend)
        try:
            async with asyncio.timeout_at(deadline):
                answer = await self._client.post(path, cast_to=object, body=body)
            return kind.model_validate(answer)
        except TimeoutError:
            raise too_late(self._backend) from None
        except openai.APIError as exc:
            raise failed_call(exc, self._backend, answering=False, field="documents") from None
        except (ValueError, RecursionError):  # no JSON, or pydantic's ValidationError: other JSON
            raise garbage(self._backend) from None
