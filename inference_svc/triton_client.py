"""Calls of a Triton server over gRPC: one connection, deadlines, bounded requests, clear errors."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, nullcontext

import grpc
from tritonclient.grpc import service_pb2

from inference_svc.places import Places
from inference_svc.triton_errors import error_of_call, not_in_time
from inference_svc.triton_tensors import Answer
from radref.errors import Unavailable
from radref.retry_policy import BALANCED_ONLY
from radref.service.channels import CHANNEL_OPTIONS
from radref.service.context import current_call, downstream_timeout
from radref.service.tracing.spans import trace_headers

_MODEL_INFER = "/inference.GRPCInferenceService/ModelInfer"
_MIN_TIMEOUT_SECONDS = 0.001
# Triton (2.51, default settings) closes a connection that is pinged more often than every 300 s while it
# sends nothing: with radref's 30 s a silent call ended in "too_many_pings" after 240 s. A server that is gone
# without a word is still noticed by the next request: nobody acknowledges it (grpc.keepalive_timeout_ms).
_OPTIONS: tuple[tuple[str, int | str], ...] = (
    *{**dict(CHANNEL_OPTIONS), "grpc.keepalive_time_ms": 330_000}.items(),
    # Replicas behind one name, e.g. a headless Service, get equal shares.
    ("grpc.service_config", BALANCED_ONLY),
)


class TritonClient:
    """A connection to a Triton server, made by the first request. Belongs to one event loop.

    A request that fails is not sent again: a server that is being stopped finishes what it has accepted,
    gRPC itself resends what a server never accepted, and a request that was lost with a crashed server may
    be what crashed it.

    Args:
        target: "host:port"; every address behind the name is used.
        backend: names it in errors, e.g. "embedding".
        timeout: seconds an answer to one request may take, the wait for a place included, > 0; a caller's
            nearer deadline goes before.
        observe_compute: called with the seconds from sending a request to its answer.
    """

    def __init__(
        self, target: str, *, backend: str, timeout: float, observe_compute: Callable[[float], None]
    ) -> None:
        self._target, self._backend, self._timeout = target, backend, timeout
        self._observe_compute = observe_compute
        self._channel: grpc.aio.Channel | None = None
        self._closed = False
        self._running = 0
        self._idle = asyncio.Event()
        self._idle.set()

    async def ask(
        self,
        request: service_pb2.ModelInferRequest,
        *,
        places: Places | None,
        fields: Mapping[str, str],
        observed: bool = True,
    ) -> Answer:
        """Sends one request. The caller's cancellation cancels it at the server too.

        Args:
            places: where it waits for its turn; None = at once.
            fields: request field by reason, for errors that are the caller's fault.
            observed: whether its time is reported.

        Raises:
            InvalidInput: the model says so: EMPTY_TEXT, INVALID_SPAN or TEXT_TOO_LONG.
            Overloaded: too many wait here or at the server.
            DeadlineExceeded, Unavailable: no answer in time, or none at all.
            Internal: the server failed, or what it answered is no answer.
        """
        async with (
            _answered_within(downstream_timeout(self._timeout), self._backend) as deadline,
            nullcontext() if places is None else places.place(),
        ):
            loop = asyncio.get_running_loop()
            sent = loop.time()
            answer = await self._infer(request, deadline - sent, fields)
            if observed:
                self._observe_compute(loop.time() - sent)
            return answer

    async def close(self) -> None:
        """Waits for what is running; whatever waits or comes later fails with Unavailable."""
        self._closed = True
        # Closing the channel would cancel the tasks that wait for an answer; each has a deadline.
        await self._idle.wait()
        if self._channel is not None:
            await self._channel.close()

    async def _infer(
        self, request: service_pb2.ModelInferRequest, timeout: float, fields: Mapping[str, str]
    ) -> Answer:
        if self._closed:
            raise Unavailable(f"the client of the {self._backend} backend is shutting down")
        if self._channel is None:
            self._channel = grpc.aio.insecure_channel(self._target, options=_OPTIONS)
        call = current_call()
        if call is not None:
            request.id = call.request_id  # Triton writes it into its log
        # Bytes on purpose: gRPC would log an answer that cannot be parsed, and return None.
        infer = self._channel.unary_unary(_MODEL_INFER)
        self._running += 1
        self._idle.clear()
        try:
            serialized = await infer(
                request.SerializeToString(),
                timeout=max(timeout, _MIN_TIMEOUT_SECONDS),
                metadata=tuple(trace_headers().items()),
            )
        except grpc.aio.AioRpcError as exc:
            model = request.model_name
            raise error_of_call(exc, backend=self._backend, model=model, fields=fields) from None
        finally:
            self._running -= 1
            if not self._running:
                self._idle.set()
        return Answer(self._backend, serialized)


@asynccontextmanager
async def _answered_within(seconds: float, backend: str) -> AsyncIterator[float]:
    """Yields the event loop's time of the deadline; raises DeadlineExceeded when it passes inside."""
    deadline = asyncio.get_running_loop().time() + seconds
    try:
        async with asyncio.timeout_at(deadline):
            yield deadline
    except TimeoutError:
        raise not_in_time(backend) from None
