"""TritonEmbedder when the server is down, dies, returns, refuses, or answers what is no answer."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable

import grpc
import numpy as np
import pytest
import pytest_asyncio
from tritonclient.grpc import service_pb2

from inference_svc.embedders.embedder import SpannedText
from inference_svc.embedders.triton.embedder import TritonEmbedder
from radref.errors import DeadlineExceeded, Internal, InvalidInput, Overloaded, RadrefError, Unavailable
from tests.inference.test_triton_embedder import embedder_of
from tests.inference.triton_standin import (
    Misbehaviour,
    Output,
    Seen,
    TritonStandin,
    eventually,
    packed,
    recovered,
    replaced,
    without,
)

SECRET = "Иванов Иван, 1961"


@pytest_asyncio.fixture
async def triton() -> AsyncIterator[TritonStandin]:
    standin = TritonStandin()
    await standin.start()
    yield standin
    await standin.stop()


@pytest_asyncio.fixture
async def embedder(triton: TritonStandin) -> AsyncIterator[TritonEmbedder]:
    made = embedder_of(triton)
    await made.check()
    yield made
    await made.close()


async def test_down_at_the_start_then_up(triton: TritonStandin) -> None:
    await triton.stop()
    embedder = embedder_of(triton)
    with pytest.raises(Unavailable) as caught:
        await embedder.check()
    assert caught.value.reason == "BACKEND_UNAVAILABLE"
    with pytest.raises(Unavailable) as caught:
        _ = embedder.description
    assert caught.value.reason == "NOT_READY"
    await triton.start()
    await recovered(embedder.check, Unavailable)
    assert embedder.description.fingerprint == triton.fingerprint
    await embedder.close()


async def test_dies_between_calls_and_returns_on_the_same_port(
    triton: TritonStandin, embedder: TritonEmbedder
) -> None:
    for _ in range(2):
        await triton.stop()
        for call in (
            embedder.embed_queries(["q"]),
            embedder.embed_documents(["d"] * 200),
            embedder.embed_spans([SpannedText("доза", [(0, 4)])] * 3),
            embedder.tokenize(["доза"], want_offsets=True),
        ):
            with pytest.raises(Unavailable):
                await call
        await triton.start()
        await recovered(lambda: embedder.embed_queries(["q"]), Unavailable)


async def test_dies_in_the_middle_of_a_call(triton: TritonStandin, embedder: TritonEmbedder) -> None:
    triton.held = asyncio.Event()
    calls = [asyncio.create_task(embedder.embed_queries(["q"])) for _ in range(3)]
    await eventually(lambda: triton.running == 3)
    await triton.stop()
    outcomes = await asyncio.gather(*calls, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [Unavailable] * 3
    # Sent once each: what was lost with the server may be what killed it.
    assert len(triton.of("frida")) == 1 + 3


async def _hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.close()


async def _answer_http_1(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
    await writer.drain()
    writer.close()


@pytest.mark.parametrize("behaviour", [_hang_up, _answer_http_1])
async def test_something_else_listens_at_the_target(
    behaviour: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]],
) -> None:
    server = await asyncio.start_server(behaviour, "127.0.0.1", 0)
    embedder = embedder_of(TritonStandin(port=server.sockets[0].getsockname()[1]))
    with pytest.raises(Unavailable):
        await embedder.embed_queries(["q"])
    await embedder.close()
    server.close()
    await server.wait_closed()


@pytest.mark.parametrize(("timeout", "error"), [(0.3, DeadlineExceeded), (30.0, Unavailable)])
async def test_a_target_that_never_says_anything(timeout: float, error: type[RadrefError]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        embedder = embedder_of(TritonStandin(port=listening.getsockname()[1]), timeout=timeout)
        with pytest.raises(error):
            await embedder.embed_queries(["q"])
        await embedder.close()


async def test_another_grpc_server_listens_at_the_target() -> None:
    server = grpc.aio.server()
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    embedder = embedder_of(TritonStandin(port=port))
    with pytest.raises(Unavailable) as caught:
        await embedder.check()
    assert "no Triton" in caught.value.message
    await embedder.close()
    await server.stop(None)


@pytest.mark.parametrize(
    ("code", "details", "error"),
    [
        # As Triton 2.51 says them.
        ("UNAVAILABLE", "[request id: <id_unknown>] Exceeds maximum queue size", Overloaded),
        ("UNAVAILABLE", "[request id: r-1] Request timeout expired", Overloaded),
        ("UNAVAILABLE", "[request id: r-1] Server is stopping, scheduler for model has stopped", Unavailable),
        ("NOT_FOUND", "Request for unknown model: 'frida' is not found", Unavailable),
        ("UNAVAILABLE", "Request for unknown model: 'frida' has no available versions", Unavailable),
        ("INTERNAL", "Stub process 'frida_0_0' is not healthy.", Unavailable),
        ("INTERNAL", f"Failed to process the request(s), message: ValueError: {SECRET}", Internal),
        ("INVALID_ARGUMENT", f"[request id: <id_unknown>] unexpected inference input {SECRET}", Internal),
        # As proxies and broken servers say them.
        ("RESOURCE_EXHAUSTED", "over the limit", Overloaded),
        ("RESOURCE_EXHAUSTED", "CLIENT: Received message larger than max (70000000 vs. 67108864)", Internal),
        ("CANCELLED", SECRET, Unavailable),
        ("UNKNOWN", SECRET, Unavailable),
        ("PERMISSION_DENIED", "RBAC: access denied", Unavailable),
        ("DEADLINE_EXCEEDED", SECRET, DeadlineExceeded),
        ("DATA_LOSS", SECRET, Internal),
        ("ABORTED", "", Internal),
        # As the models of the repository say them.
        ("INTERNAL", "[TEXT_TOO_LONG] the text is too long", InvalidInput),
        ("INTERNAL", "[request id: r-1] [EMPTY_TEXT] the text is empty", InvalidInput),
        ("INTERNAL", "[INTERNAL] vectors that are not finite", Internal),
        ("INTERNAL", "[SOMETHING_NEW] whatever", Internal),
        ("INTERNAL", f"ValueError: {SECRET} [INVALID_SPAN] {SECRET}", Internal),
    ],
)
async def test_what_the_server_refuses_has_a_clear_status(
    triton: TritonStandin, embedder: TritonEmbedder, code: str, details: str, error: type[RadrefError]
) -> None:
    triton.status = (grpc.StatusCode[code], details)
    with pytest.raises(RadrefError) as caught:
        await embedder.embed_documents(["d"])
    assert type(caught.value) is error
    assert SECRET not in caught.value.message
    assert "Иванов" not in str(caught.value.metadata)
    if error is Overloaded:
        assert caught.value.retry_after
    if error is InvalidInput:
        assert caught.value.field == "documents.texts"
        assert details.endswith(caught.value.message)
    triton.status = None
    assert len((await embedder.embed_documents(["d"])).vectors) == 1


def _bytes(data: bytes) -> Misbehaviour:
    return lambda seen, outputs: data


def _renamed_type(seen: Seen, outputs: list[Output]) -> None:
    outputs[0] = (outputs[0][0], "FP16", *outputs[0][2:])


def _no_contents(seen: Seen, outputs: list[Output]) -> bytes:
    return service_pb2.ModelInferResponse(
        outputs=[service_pb2.ModelInferResponse.InferOutputTensor(name="EMBEDDING", datatype="FP32")]
    ).SerializeToString()


def _vectors(*rows: list[float]) -> Misbehaviour:
    array = np.array([rows], np.float32).reshape(len(rows), 1, -1)
    return replaced("EMBEDDING", shape=array.shape, data=array.tobytes())


UNIT = [1.0] + [0.0] * 7
NONSENSE: dict[str, Misbehaviour] = {
    "bytes that are no message": _bytes(b"\xff\xff\xff garbage"),
    "an empty message": _bytes(b""),
    "outputs without contents": _no_contents,
    "another type": _renamed_type,
    "no vectors": without("EMBEDDING"),
    "no counts": without("TOKENS"),
    "no flags": without("TRUNCATED"),
    "no fingerprint": without("FINGERPRINT"),
    "too few rows": _vectors(UNIT),
    "too many rows": _vectors(UNIT, UNIT, UNIT),
    "too few bytes": replaced("EMBEDDING", data=b"\0" * 12),
    "too many bytes": replaced("EMBEDDING", data=b"\0" * 4_000),
    "a negative shape": replaced("EMBEDDING", shape=(-2, 1, -8)),
    "an absurd shape": replaced("EMBEDDING", shape=(2**62, 2**62, 8)),
    "NaN": _vectors(UNIT, [float("nan")] * 8),
    "infinity": _vectors(UNIT, [float("inf")] + [0.0] * 7),
    "zeros": _vectors(UNIT, [0.0] * 8),
    "not normalised": _vectors(UNIT, [1.002] + [0.0] * 7),
    "huge": _vectors(UNIT, [3e38] * 8),
    "counts of another shape": replaced("TOKENS", shape=(2,)),
    "no tokens": replaced("TOKENS", data=struct.pack("<ii", 3, 0)),
    "flags that are neither": replaced("TRUNCATED", data=b"\1\7"),
    "fingerprints that differ": replaced("FINGERPRINT", data=packed(["0" * 16, "1" * 16])),
    "a fingerprint that is none": replaced("FINGERPRINT", data=packed(["latest", "latest"])),
    "a fingerprint cut short": replaced("FINGERPRINT", data=packed(["0" * 16] * 2)[:-1]),
    "an absurd length": replaced("FINGERPRINT", data=b"\xff\xff\xff\xff" + b"0" * 36),
    "no UTF-8": replaced("FINGERPRINT", data=(struct.pack("<I", 2) + b"\xff\xfe") * 2),
}


@pytest.mark.parametrize("name", NONSENSE)
async def test_nonsense_is_told_from_an_answer(
    triton: TritonStandin, embedder: TritonEmbedder, name: str
) -> None:
    triton.misbehaviour = NONSENSE[name]
    with pytest.raises(Internal) as caught:
        await embedder.embed_queries(["a", "b"])
    assert "the embedding backend answered something that is no answer" in caught.value.message
    assert caught.value.metadata == {"backend": "embedding"}
    triton.misbehaviour = None
    await embedder.embed_queries(["a", "b"])


async def test_another_dimension_names_both(triton: TritonStandin, embedder: TritonEmbedder) -> None:
    triton.misbehaviour = _vectors([1.0, 0.0, 0.0])
    with pytest.raises(Internal) as caught:
        await embedder.embed_queries(["a"])
    assert "3 dimensions" in caught.value.message
    assert "described with 8" in caught.value.message


async def test_a_norm_of_nearly_one_is_made_one(triton: TritonStandin, embedder: TritonEmbedder) -> None:
    triton.misbehaviour = _vectors([0.9995] + [0.0] * 7)
    (vector,) = (await embedder.embed_queries(["a"])).vectors
    assert abs(np.linalg.norm(vector) - 1) < 1e-6


@pytest.mark.parametrize(
    "misbehaviour",
    [
        _vectors(UNIT),
        replaced("TRUNCATED", data=b"\1"),
        replaced("TOKENS", shape=(1, 2), data=struct.pack("<ii", 1, 1)),
    ],
)
async def test_nonsense_about_spans(
    triton: TritonStandin, embedder: TritonEmbedder, misbehaviour: Misbehaviour
) -> None:
    triton.misbehaviour = misbehaviour
    with pytest.raises(Internal):
        await embedder.embed_spans([SpannedText("доза кт", [(0, 4), (5, 7)])])


@pytest.mark.parametrize(
    "misbehaviour",
    [
        _bytes(b"\xff"),
        without("COUNT"),
        without("OFFSETS"),
        without("FINGERPRINT"),
        replaced("COUNT", data=struct.pack("<i", -1)),
        replaced("COUNT", data=struct.pack("<i", 3)),
        replaced("COUNT", data=struct.pack("<i", 2**31 - 1)),
        replaced("COUNT", shape=(2,), data=struct.pack("<ii", 1, 1)),
        replaced("OFFSETS", data=struct.pack("<iiii", 0, 4, 5, 8)),  # beyond the text
        replaced("OFFSETS", data=struct.pack("<iiii", 0, 4, 7, 5)),  # ends before it starts
        replaced("OFFSETS", data=struct.pack("<iiii", -1, 4, 5, 7)),
    ],
)
async def test_nonsense_about_tokens(
    triton: TritonStandin, embedder: TritonEmbedder, misbehaviour: Misbehaviour
) -> None:
    triton.misbehaviour = misbehaviour
    with pytest.raises(Internal):
        await embedder.tokenize(["доза кт"], want_offsets=True)


@pytest.mark.parametrize(
    "misbehaviour",
    [
        without("DOCUMENT_PREFIX"),
        replaced("TOKENIZER", data=packed(["v1"])),
        replaced("DIMENSION", data=struct.pack("<i", 0)),
        replaced("WINDOW", data=struct.pack("<i", -1)),
        replaced("DOCUMENT_OVERHEAD", data=struct.pack("<i", 32)),
    ],
)
async def test_nonsense_about_the_model(triton: TritonStandin, misbehaviour: Misbehaviour) -> None:
    triton.misbehaviour = misbehaviour
    embedder = embedder_of(triton)
    with pytest.raises(Internal):
        await embedder.check()
    with pytest.raises(Unavailable):
        _ = embedder.description
    await embedder.close()


async def test_text_that_is_no_unicode_is_refused(triton: TritonStandin, embedder: TritonEmbedder) -> None:
    with pytest.raises(InvalidInput) as caught:
        await embedder.embed_queries(["доза \ud83e"])
    assert caught.value.reason == "UNDECODABLE_TEXT"
