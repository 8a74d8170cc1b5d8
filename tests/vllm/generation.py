"""Requests to radref's Generate in front of a vLLM server, and what came back."""

from __future__ import annotations

from collections.abc import AsyncIterable
from dataclasses import dataclass

from inference_svc.generators.openai_compatible import OpenAIGenerator, Thinking
from inference_svc.places import Places
from radref.api.inference.v1 import inference_pb2 as pb
from tests.vllm.server import VllmServer

MODEL = "qwen3-30b-a3b"
QUESTION = "What is the effective dose? Какова доза?"
# Seconds; for calls that are to be waited for on a busy machine.
PATIENCE = 120.0


@dataclass(frozen=True)
class Generated:
    """A whole generation."""

    deltas: list[str]
    summary: pb.GenerationSummary

    @property
    def text(self) -> str:
        return "".join(self.deltas)


def adapter(
    server: VllmServer,
    *,
    upstream: str = "",
    concurrent: int = 8,
    max_tokens: int = 2048,
    idle: float = PATIENCE,
    window: int = 4096,
) -> OpenAIGenerator:
    """radref's generator over the server, patient unless a test asks for less."""
    return OpenAIGenerator(
        id=MODEL,
        base_url=f"{server.url}/v1",
        upstream_model=upstream or server.name,
        api_key="",
        thinking=Thinking.CHAT_TEMPLATE_KWARGS,
        places=Places("generator", concurrent=concurrent, waiting=8, observe_wait=lambda _: None),
        observe_compute=lambda _: None,
        max_tokens=max_tokens,
        window=window,
        timeout=PATIENCE,
        idle=idle,
    )


def question(
    content: str = QUESTION, *, schema: str = "", max_tokens: int = 0, model: str = ""
) -> pb.GenerateRequest:
    return pb.GenerateRequest(
        model=model,
        messages=[
            pb.PromptMessage(role=pb.PROMPT_ROLE_SYSTEM, content="Answer only from the context."),
            pb.PromptMessage(role=pb.PROMPT_ROLE_USER, content=content),
        ],
        query=QUESTION,
        json_schema=schema,
        max_tokens=max_tokens,
    )


async def collected(call: AsyncIterable[pb.GenerateResponse]) -> Generated:
    """All deltas and the summary, which is the last message and the only one of its kind."""
    responses = [response async for response in call]
    assert [response.HasField("summary") for response in responses] == [False] * (len(responses) - 1) + [True]
    assert not responses[-1].delta
    return Generated([response.delta for response in responses[:-1]], responses[-1].summary)
