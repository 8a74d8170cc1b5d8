"""A stand-in for Triton: KServe v2 over real gRPC, results computed from the texts, faults on demand.

Tokens are runs of visible characters; a prefix and the end of a sequence are one token each.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import struct
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

import grpc
import numpy as np
from numpy.typing import NDArray
from tritonclient.grpc import service_pb2 as pb

from radref.service.channels import MAX_MESSAGE_BYTES

OVERHEAD = 2
_ITEM_SIZES = {"INT32": "<i4", "BOOL": "u1", "FP32": "<f4"}


class RequestError(Exception):
    """What a model answers for one request."""


@dataclass
class Seen:
    """A request as the server got it."""

    model: str
    priority: int
    inputs: dict[str, list[str] | NDArray[np.generic]]
    outputs: list[str]
    request_id: str
    time_remaining: float
    traceparent: str = ""  # its header; empty = none


# Name, datatype, shape and contents of an output.
Output = tuple[str, str, Sequence[int], bytes]
# Sees request and outputs before they are sent; may change the list, return other bytes, or raise.
Misbehaviour = Callable[[Seen, list[Output]], bytes | None]


@dataclass
class TritonStandin:
    """Serves `frida`, `frida_tokenizer` and `qwen3_reranker`; attributes may be changed at any time."""

    fingerprint: str = "00112233445566ff"
    tokenizer_fingerprint: str | None = None  # None = the same
    dimension: int = 8
    window: int = 32
    misbehaviour: Misbehaviour | None = None
    status: tuple[grpc.StatusCode, str] | None = None
    held: asyncio.Event | None = None  # requests wait until it is set
    seen: list[Seen] = field(default_factory=list)
    running: int = 0
    peak: int = 0
    cancelled: int = 0
    port: int = 0
    _server: grpc.aio.Server | None = None

    @property
    def target(self) -> str:
        return f"127.0.0.1:{self.port}"

    async def start(self) -> None:
        """Listens; after a stop on the same port again."""
        handler = grpc.unary_unary_rpc_method_handler(
            self._model_infer,
            request_deserializer=pb.ModelInferRequest.FromString,
            response_serializer=None,  # so that bytes that are no message can be sent as well
        )
        options = [("grpc.so_reuseport", 0), ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES)]
        self._server = grpc.aio.server(options=options)
        self._server.add_generic_rpc_handlers(
            (grpc.method_handlers_generic_handler("inference.GRPCInferenceService", {"ModelInfer": handler}),)
        )
        self.port = self._server.add_insecure_port(f"127.0.0.1:{self.port}")
        await self._server.start()

    async def stop(self) -> None:
        if self._server is not None:
            await self._server.stop(None)
            self._server = None

    def of(self, model: str) -> list[Seen]:
        return [seen for seen in self.seen if seen.model == model]

    async def _model_infer(self, request: pb.ModelInferRequest, context: grpc.aio.ServicerContext) -> bytes:
        seen = _seen(request, context.time_remaining())
        seen.traceparent = dict(context.invocation_metadata()).get("traceparent", "")
        self.seen.append(seen)
        self.running += 1
        self.peak = max(self.peak, self.running)
        try:
            await asyncio.sleep(0)
            if self.held is not None:
                await self.held.wait()
            if self.status is not None:
                await context.abort(*self.status)
            outputs = self._outputs(seen)
            wanted = [output for output in outputs if output[0] in seen.outputs]
            changed = self.misbehaviour(seen, wanted) if self.misbehaviour is not None else None
            return _message(wanted) if changed is None else changed
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        except RequestError as exc:
            await context.abort(grpc.StatusCode.INTERNAL, str(exc))
            raise
        finally:
            self.running -= 1

    def _outputs(self, seen: Seen) -> list[Output]:
        match seen.model:
            case "frida":
                return self._embed(seen)
            case "frida_tokenizer":
                return self._tokenize(seen)
            case "qwen3_reranker":
                return self._rerank(seen)
        raise AssertionError(seen.model)

    def vector(self, kind: str, text: str) -> NDArray[np.float32]:
        """The vector of a text; `kind` is query, document or span."""
        digest = hashlib.sha256(f"{self.fingerprint}|{kind}|{text}".encode()).digest()
        vector = np.random.default_rng(int.from_bytes(digest[:8], "little")).normal(size=self.dimension)
        return (vector / np.linalg.norm(vector)).astype(np.float32)

    def _embed(self, seen: Seen) -> list[Output]:
        texts, kinds = seen.inputs["TEXT"], seen.inputs["KIND"]
        assert isinstance(texts, list)
        assert isinstance(kinds, list)
        assert len(texts) == len(kinds) <= 64
        rows = len(texts)
        counts = [len(words(text)) + OVERHEAD for text in texts]
        truncated = [count > self.window for count in counts]
        vectors = [[self.vector(kind, text)] for kind, text in zip(kinds, texts, strict=True)]
        if "SPANS" in seen.inputs:
            assert (rows, kinds) == (1, ["document"])
            pairs = np.asarray(seen.inputs["SPANS"]).reshape(-1, 2).tolist()
            if not all(words(texts[0][start:end]) for start, end in pairs):
                raise RequestError("[INVALID_SPAN] this span holds no text, or only white space")
            vectors = [[self.vector("span", texts[0][start:end]) for start, end in pairs]]
            truncated = [False]
        embedding = np.array(vectors, np.float32)
        return [
            ("EMBEDDING", "FP32", embedding.shape, embedding.tobytes()),
            ("TOKENS", "INT32", (rows, 1), np.array(counts, "<i4").tobytes()),
            ("TRUNCATED", "BOOL", (rows, 1), bytes(truncated)),
            ("FINGERPRINT", "BYTES", (rows, 1), packed([self.fingerprint] * rows)),
        ]

    def _tokenize(self, seen: Seen) -> list[Output]:
        texts = seen.inputs["TEXT"]
        assert isinstance(texts, list)
        tokens = [words(text) for text in texts]
        offsets = np.array([pair for found in tokens for pair in found], "<i4").reshape(-1, 2)
        outputs = [
            ("COUNT", "INT32", (len(texts),), np.array([len(found) for found in tokens], "<i4").tobytes()),
            ("OFFSETS", "INT32", offsets.shape, offsets.tobytes()),
        ]
        for name, value in (
            ("FINGERPRINT", self.tokenizer_fingerprint or self.fingerprint),
            ("TOKENIZER", "a" * 16),
            ("QUERY_PREFIX", "search_query: "),
            ("DOCUMENT_PREFIX", "search_document: "),
        ):
            outputs.append((name, "BYTES", (1,), packed([value])))
        for name, number in (
            ("DIMENSION", self.dimension),
            ("WINDOW", self.window),
            ("DOCUMENT_OVERHEAD", OVERHEAD),
        ):
            outputs.append((name, "INT32", (1,), struct.pack("<i", number)))
        return outputs

    def _rerank(self, seen: Seen) -> list[Output]:
        queries, documents = seen.inputs["QUERY"], seen.inputs["DOCUMENT"]
        assert isinstance(queries, list)
        assert isinstance(documents, list)
        rows = len(documents)
        assert rows == len(queries) == len(seen.inputs["INSTRUCTION"]) <= 64
        if len(words(queries[0])) > self.window:
            raise RequestError("[TEXT_TOO_LONG] the question does not fit into the window of the reranker")
        scores = [score(query, document) for query, document in zip(queries, documents, strict=True)]
        truncated = [len(words(document)) > self.window for document in documents]
        return [
            ("SCORE", "FP32", (rows, 1), np.array(scores, "<f4").tobytes()),
            ("TRUNCATED", "BOOL", (rows, 1), bytes(truncated)),
            ("FINGERPRINT", "BYTES", (rows, 1), packed([self.fingerprint] * rows)),
            ("WINDOW", "INT32", (rows, 1), np.full(rows, self.window, "<i4").tobytes()),
        ]


def words(text: str) -> list[tuple[int, int]]:
    """The tokens: [start, end) in code points."""
    return [match.span() for match in re.finditer(r"\S+", text)]


def score(query: str, document: str) -> float:
    """The share of the query's words that stand in the document, exact in single precision or nearly so."""
    wanted = set(query.split())
    return len(wanted & set(document.split())) / len(wanted)


def packed(values: Sequence[str]) -> bytes:
    encoded = [value.encode() for value in values]
    return b"".join(struct.pack("<I", len(value)) + value for value in encoded)


def replaced(name: str, *, shape: Sequence[int] | None = None, data: bytes | None = None) -> Misbehaviour:
    """Sends one output with another shape or other contents."""

    def change(seen: Seen, outputs: list[Output]) -> None:
        for index, (found, datatype, old_shape, old_data) in enumerate(outputs):
            if found == name:
                outputs[index] = (found, datatype, shape or old_shape, old_data if data is None else data)

    return change


def without(name: str) -> Misbehaviour:
    """Leaves one output out."""

    def change(seen: Seen, outputs: list[Output]) -> None:
        outputs[:] = [output for output in outputs if output[0] != name]

    return change


async def eventually(condition: Callable[[], bool]) -> None:
    """Waits for something that happens at the other end of a connection."""
    async with asyncio.timeout(20):
        while not condition():
            await asyncio.sleep(0.02)


async def recovered(call: Callable[[], Awaitable[object]], error: type[Exception]) -> None:
    """Repeats a call until it works again."""
    async with asyncio.timeout(20):
        while True:
            try:
                await call()
                return
            except error:
                await asyncio.sleep(0.05)


def _message(outputs: Sequence[Output]) -> bytes:
    response = pb.ModelInferResponse()
    for name, datatype, shape, data in outputs:
        response.outputs.add(name=name, datatype=datatype, shape=shape)
        response.raw_output_contents.append(data)
    return response.SerializeToString()


def _seen(request: pb.ModelInferRequest, time_remaining: float) -> Seen:
    inputs: dict[str, list[str] | NDArray[np.generic]] = {}
    for tensor, data in zip(request.inputs, request.raw_input_contents, strict=True):
        if tensor.datatype == "BYTES":
            inputs[tensor.name] = _unpacked(data)
            assert len(inputs[tensor.name]) == int(np.prod(tensor.shape))
        else:
            inputs[tensor.name] = np.frombuffer(data, _ITEM_SIZES[tensor.datatype]).reshape(tensor.shape)
    return Seen(
        model=request.model_name,
        priority=request.parameters["priority"].uint64_param if "priority" in request.parameters else 0,
        inputs=inputs,
        outputs=[output.name for output in request.outputs],
        request_id=request.id,
        time_remaining=time_remaining,
    )


def _unpacked(data: bytes) -> list[str]:
    found, position = [], 0
    while position < len(data):
        (length,) = struct.unpack_from("<I", data, position)
        found.append(data[position + 4 : position + 4 + length].decode())
        position += 4 + length
    return found
