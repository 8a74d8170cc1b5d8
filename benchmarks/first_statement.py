"""When the first statement is shown: streamed against whole, with a model server that writes at a known pace.

    python -m benchmarks.first_statement [--tokens-a-second 40] [--statements 6] [--rounds 5]

The model server is a stand-in that speaks the OpenAI API; gateway and inference service are the real ones, on
loopback, with a scripted search. So the figures are the services' share and the pace, not a model's.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import time

from radref.api.gateway.v1 import gateway_pb2
from tests.gateway.llm_stack import LlmStack, llm_stack
from tests.gateway.test_pipeline import GOOD, output
from tests.inference.generators.openai_setup import CHAT, generator
from tests.inference.openai_standin import Exchange, Script, standin

QUESTION = "What is the eye lens limit for a worker?"
# A token of English JSON, roughly; only the pace depends on it.
CHARACTERS_A_TOKEN = 4


def paced(text: str, seconds_a_token: float) -> Script:
    async def script(exchange: Exchange) -> None:
        await exchange.begin()
        due = time.monotonic()
        for start in range(0, len(text), CHARACTERS_A_TOKEN):
            due += seconds_a_token
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            await exchange.content(text[start : start + CHARACTERS_A_TOKEN])
        await exchange.end()

    return script


async def streamed(stack: LlmStack) -> dict[str, float]:
    """Milliseconds until the first message of each kind."""
    began = time.perf_counter()
    seen: dict[str, float] = {}
    async for message in stack.stub.StreamGenerate(
        gateway_pb2.StreamGenerateRequest(query=QUESTION), timeout=120
    ):
        seen.setdefault(message.WhichOneof("event") or "", (time.perf_counter() - began) * 1000)
    return seen


async def whole(stack: LlmStack) -> float:
    began = time.perf_counter()
    await stack.stub.Generate(gateway_pb2.GenerateRequest(query=QUESTION), timeout=120)
    return (time.perf_counter() - began) * 1000


async def measure(pace: float, statements: int, rounds: int) -> None:
    text = output(*[GOOD] * statements)
    first = text.index("]}", text.index('"statements"')) + 2
    async with standin() as server, llm_stack(generator(server.url, timeout=120.0)) as stack:
        server.on(CHAT, paced(text, 1 / pace))
        times = [await streamed(stack) for _ in range(rounds)]
        wholes = [await whole(stack) for _ in range(rounds)]
    print(f"{len(text) // CHARACTERS_A_TOKEN} tokens at {pace:.0f} a second, {statements} statements")
    written = first / CHARACTERS_A_TOKEN / pace * 1000
    for kind in ("sources", "statement", "end"):
        print(f"  first {kind:9} {statistics.median(each[kind] for each in times):8.0f} ms")
    print(f"  (the model has written its first statement after {written:.0f} ms)")
    print(f"  Generate        {statistics.median(wholes):8.0f} ms")


def main() -> None:
    parser = argparse.ArgumentParser(description="time to the first statement")
    parser.add_argument("--tokens-a-second", type=float, default=40.0)
    parser.add_argument("--statements", type=int, default=6)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    asyncio.run(measure(arguments.tokens_a_second, arguments.statements, arguments.rounds))


if __name__ == "__main__":
    main()
