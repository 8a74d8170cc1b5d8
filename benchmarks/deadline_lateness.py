"""How late DEADLINE_EXCEEDED comes: calls whose work takes longer than their deadline.

    python -m benchmarks.deadline_lateness [--calls 100] [--deadline-ms 200]

Real gateway and inference service over gRPC on loopback; the model server is a stand-in that never ends its
answer. Lateness is counted from the deadline to the moment the caller has the status. Exits 1 above 100 ms.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time

import grpc

from radref.api.gateway.v1 import gateway_pb2
from radref.service.status import error_from_rpc
from tests.gateway.llm_stack import LlmStack, llm_stack
from tests.inference.generators.openai_setup import CHAT, generator
from tests.inference.openai_standin import Exchange, standin

BOUND_MS = 100.0


async def drip(exchange: Exchange) -> None:
    await exchange.begin()
    while True:
        await exchange.content(" ")
        await asyncio.sleep(0.01)


async def lateness(stack: LlmStack, deadline: float, *, stream: bool) -> tuple[float, str]:
    """Milliseconds after the deadline (negative: before), and the reason."""
    began = time.perf_counter()
    try:
        if stream:
            request = gateway_pb2.StreamGenerateRequest(query="Eye lens limit?")
            async for _ in stack.stub.StreamGenerate(request, timeout=deadline):
                pass
        else:
            await stack.stub.Generate(gateway_pb2.GenerateRequest(query="Eye lens limit?"), timeout=deadline)
    except grpc.aio.AioRpcError as exc:
        late = (time.perf_counter() - began - deadline) * 1000
        return late, f"{exc.code().name}/{error_from_rpc(exc, backend='gateway').reason}"
    return 0.0, "ANSWERED"


async def measure(calls: int, deadline: float) -> float:
    worst = 0.0
    async with standin() as server, llm_stack(generator(server.url)) as stack:
        server.on(CHAT, drip)
        for name, stream in (("Generate", False), ("StreamGenerate", True)):
            found = [await lateness(stack, deadline, stream=stream) for _ in range(calls)]
            times = sorted(late for late, _ in found)
            worst = max(worst, times[-1])
            print(
                f"{name:15} {calls} calls, deadline {deadline * 1000:.0f} ms: "
                f"median {times[calls // 2]:.1f} ms, p95 {times[int(calls * 0.95)]:.1f} ms, "
                f"worst {times[-1]:.1f} ms after it; "
                f"{', '.join(sorted({reason for _, reason in found}))}"
            )
        await server.idle()
    return worst


def main() -> None:
    parser = argparse.ArgumentParser(description="lateness of DEADLINE_EXCEEDED")
    parser.add_argument("--calls", type=int, default=100)
    parser.add_argument("--deadline-ms", type=float, default=200.0)
    arguments = parser.parse_args()
    worst = asyncio.run(measure(arguments.calls, arguments.deadline_ms / 1000))
    sys.exit(worst > BOUND_MS)


if __name__ == "__main__":
    main()
