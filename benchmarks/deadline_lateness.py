"""How long after its deadline a caller hears that there is no answer, from a real gateway process.

The gateway's neighbours accept every call and never answer. Each call's deadline is one of several; the
lateness is what the caller's clock says beyond it. DESIGN wants DEADLINE_EXCEEDED within 100 ms.

    python -m benchmarks.deadline_lateness [--calls 100]
"""

from __future__ import annotations

import argparse
import asyncio
import os
import socket
import sys
import time
from collections import Counter
from dataclasses import dataclass
from statistics import median

import grpc
from google.rpc import error_details_pb2
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_status import rpc_status

from radref.api.gateway.v1 import gateway_pb2, gateway_pb2_grpc

DEADLINES_SECONDS = (0.1, 0.25, 0.5, 1.0)
LIMIT_MILLISECONDS = 100.0
START_SECONDS = 60.0


@dataclass(frozen=True)
class Ended:
    """One call: milliseconds after the deadline (negative = before), its code, its ErrorInfo reason."""

    lateness: float
    code: str
    reason: str


class Silent(grpc.GenericRpcHandler):
    """Answers nothing, whatever is asked."""

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler:
        async def hang(request: bytes, context: grpc.aio.ServicerContext) -> bytes:
            await asyncio.Event().wait()
            raise AssertionError

        return grpc.unary_unary_rpc_method_handler(hang)


async def one_call(stub: gateway_pb2_grpc.GatewayServiceStub, deadline: float) -> Ended:
    started = time.perf_counter()
    try:
        await stub.Search(gateway_pb2.SearchRequest(query="dose limit"), timeout=deadline)
    except grpc.aio.AioRpcError as exc:
        late = (time.perf_counter() - started - deadline) * 1000
        info = error_details_pb2.ErrorInfo()
        status = rpc_status.from_call(exc)
        known = status is not None and bool(status.details) and status.details[0].Unpack(info)
        return Ended(late, exc.code().name, info.reason if known else "(none)")
    raise AssertionError("answered")


async def measure(calls: int, at_once: int) -> list[Ended]:
    silent = grpc.aio.server()
    silent.add_generic_rpc_handlers((Silent(),))
    neighbour = silent.add_insecure_port("127.0.0.1:0")
    await silent.start()
    port, admin = _free_ports(2)
    targets = {
        f"RADREF_GATEWAY_{name}_TARGET": f"127.0.0.1:{neighbour}"
        for name in ("RETRIEVAL", "INFERENCE", "INGEST")
    }
    gateway = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "gateway.server"),
        *("--listen", f"127.0.0.1:{port}", "--admin-listen", f"127.0.0.1:{admin}"),
        env={**os.environ, **targets, "RADREF_GATEWAY_DRAIN_WAIT_SECONDS": "0"},
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            await health_pb2_grpc.HealthStub(channel).Check(
                health_pb2.HealthCheckRequest(), timeout=START_SECONDS, wait_for_ready=True
            )
            stub = gateway_pb2_grpc.GatewayServiceStub(channel)
            await one_call(stub, 0.5)
            wanted = [DEADLINES_SECONDS[number % len(DEADLINES_SECONDS)] for number in range(calls)]
            ended: list[Ended] = []
            for start in range(0, calls, at_once):
                batch = wanted[start : start + at_once]
                ended += await asyncio.gather(*(one_call(stub, deadline) for deadline in batch))
            return ended
    finally:
        gateway.terminate()
        await gateway.wait()
        await silent.stop(0)


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--calls", type=int, default=100, help="calls, >= 1")
    parser.add_argument("--at-once", type=int, default=1, help="calls in flight, >= 1")
    arguments = parser.parse_args()
    ended = asyncio.run(measure(arguments.calls, arguments.at_once))
    late = sorted(each.lateness for each in ended)
    print(f"calls {len(ended)}, {arguments.at_once} at once, deadlines {DEADLINES_SECONDS} s")
    for (code, reason), count in Counter((each.code, each.reason) for each in ended).most_common():
        print(f"  {count:4d} {code} ErrorInfo {reason}")
    print(
        f"milliseconds after the deadline: first {late[0]:.1f}, median {median(late):.1f}, "
        f"p99 {late[int(0.99 * (len(late) - 1))]:.1f}, last {late[-1]:.1f}"
    )
    sys.exit(0 if late[-1] <= LIMIT_MILLISECONDS else 1)


if __name__ == "__main__":
    main()
