"""A stand-in for vLLM's /tokenize and /rerank, and a reranker for it."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from inference_svc.places import Places
from inference_svc.rerankers.vllm import Template, VllmReranker
from radref.errors import (
    RadrefError,
)
from tests.inference.openai_standin import Exchange, Script, Standin

INSTRUCTION = "Найди выдержку, которая отвечает на вопрос врача"
QUERY = "Какова предельная доза?"
# A control token is one token; otherwise every three letters, and every other sign.
TOKEN = re.compile(r"<\|\w+\|>|</?think>|\w{1,3}|[^\w\s]|\s+")


def tokens(text: str) -> int:
    return len(TOKEN.findall(text))


class Vllm:
    """vLLM 0.32 as far as the reranker sees it: both texts put together, refused where they do not fit."""

    def __init__(self, server: Standin, window: int) -> None:
        self.window = window
        self.pairs: list[str] = []
        self.counts = 0
        server.on("/tokenize", self.tokenize)
        server.on("/rerank", self.rerank)

    async def tokenize(self, exchange: Exchange) -> None:
        self.counts += 1
        count = tokens(exchange.json["prompt"])
        await exchange.answer(200, {"count": count, "max_model_len": self.window, "tokens": [1] * count})

    async def rerank(self, exchange: Exchange) -> None:
        body = exchange.json
        pairs = [body["query"] + document for document in body["documents"]]
        if any(tokens(pair) > self.window for pair in pairs):
            message = (
                f"This model's maximum context length is {self.window} tokens. However, your prompt: {pairs}"
            )
            await exchange.answer(
                400, {"error": {"message": message, "type": "BadRequestError", "param": "input_tokens"}}
            )
            return
        self.pairs += pairs
        results = [
            {"index": i, "document": {"text": document}, "relevance_score": score(document)}
            for i, document in enumerate(body["documents"])
        ]
        results.sort(key=lambda result: -result["relevance_score"])
        total = sum(map(tokens, pairs))
        usage = {"prompt_tokens": total, "total_tokens": total}
        await exchange.answer(200, {"id": "r", "model": "m", "usage": usage, "results": results})


def score(document: str) -> float:
    return (len(document) * 37 % 100) / 100


def reranker(url: str, **changes: Any) -> VllmReranker:
    fields: dict[str, Any] = {
        "id": "qwen3-reranker",
        "base_url": f"{url}/v1",
        "upstream_model": "m",
        "instruction": INSTRUCTION,
        "template": Template.CLIENT,
        "api_key": "",
        "timeout": 20.0,
        "places": places(),
        "observe_compute": lambda seconds: None,
        "first_pause": 0.01,
    }
    return VllmReranker(**(fields | changes))


def places(concurrent: int = 8, waiting: int = 8) -> Places:
    return Places("reranker", concurrent=concurrent, waiting=waiting, observe_wait=lambda seconds: None)


async def failure(
    url: str, query: str = QUERY, documents: tuple[str, ...] = ("20 мЗв",), **changes: Any
) -> Any:
    made = reranker(url, **changes)
    try:
        with pytest.raises(RadrefError) as caught:
            await made.rerank(query, documents)
    finally:
        await made.close()
    assert "мЗв" not in str(caught.value)
    assert QUERY not in str(caught.value)
    assert caught.value.__cause__ is None
    return caught.value


def answers(results: object, usage: object = None) -> Script:
    async def script(exchange: Exchange) -> None:
        body = {"results": results, "usage": {"prompt_tokens": 99} if usage is None else usage}
        await exchange.answer(200, json.dumps(body).encode())

    return script


def result(index: object, value: object) -> dict[str, object]:
    return {"index": index, "relevance_score": value}
