"""TritonReranker against a stand-in over real gRPC."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncIterator

import grpc
import numpy as np
import pytest
import pytest_asyncio

from inference_svc.places import Places
from inference_svc.rerankers.instruction import RADIOLOGY_INSTRUCTION
from inference_svc.rerankers.triton import TritonReranker
from radref.errors import DeadlineExceeded, Internal, InvalidInput, Overloaded, RadrefError, Unavailable
from tests.inference.triton_standin import (
    Misbehaviour,
    TritonStandin,
    eventually,
    packed,
    recovered,
    replaced,
    score,
    without,
)

QUERY = "какова доза при КТ"


@pytest_asyncio.fixture
async def triton() -> AsyncIterator[TritonStandin]:
    standin = TritonStandin()
    await standin.start()
    yield standin
    await standin.stop()


@pytest_asyncio.fixture
async def reranker(triton: TritonStandin) -> AsyncIterator[TritonReranker]:
    made = reranker_of(triton)
    yield made
    await made.close()


def reranker_of(
    triton: TritonStandin,
    *,
    instruction: str = RADIOLOGY_INSTRUCTION,
    timeout: float = 30.0,
    concurrent: int = 64,
    waiting: int = 1_024,
) -> TritonReranker:
    return TritonReranker(
        triton.target,
        instruction=instruction,
        timeout=timeout,
        places=Places("reranker", concurrent=concurrent, waiting=waiting, observe_wait=lambda _: None),
        observe_compute=lambda _: None,
    )


async def test_scores_come_back_in_order(triton: TritonStandin, reranker: TritonReranker) -> None:
    documents = ["доза при КТ головы", "chest radiograph", "доза", "слово " * 40]
    found = await reranker.rerank(QUERY, documents)
    assert found.scores == pytest.approx([score(QUERY, document) for document in documents], abs=1e-6)
    assert found.truncated == [False, False, False, True]
    assert all(type(value) is float for value in found.scores)
    (seen,) = triton.seen
    assert seen.inputs["INSTRUCTION"] == [RADIOLOGY_INSTRUCTION] * 4
    assert seen.priority == 0


async def test_the_description_comes_with_the_first_answer(
    triton: TritonStandin, reranker: TritonReranker
) -> None:
    assert reranker.id == "qwen3_reranker"
    with pytest.raises(Unavailable) as caught:
        _ = reranker.description
    assert caught.value.reason == "NOT_READY"
    await reranker.check()
    first = reranker.description
    assert (first.id, first.backend, first.window) == ("qwen3_reranker", "triton", 32)
    assert len(bytes.fromhex(first.fingerprint)) == 8
    triton.fingerprint, triton.window = "f" * 16, 64
    found = await reranker.rerank(QUERY, ["d"])
    assert found.fingerprint == reranker.description.fingerprint != first.fingerprint
    assert reranker.description.window == 64


async def test_another_instruction_is_another_fingerprint(triton: TritonStandin) -> None:
    prints = set()
    for instruction in (RADIOLOGY_INSTRUCTION, "Judge.", "Judge"):
        reranker = reranker_of(triton, instruction=instruction)
        prints.add((await reranker.rerank("q", ["d"])).fingerprint)
        await reranker.close()
    assert len(prints) == 3


async def test_many_documents_are_split_and_put_together_again(
    triton: TritonStandin, reranker: TritonReranker
) -> None:
    documents = [f"доза {'при ' * (index % 3)}{index}" for index in range(256)]
    found = await reranker.rerank(QUERY, documents)
    assert sorted(len(seen.inputs["DOCUMENT"]) for seen in triton.seen) == [64] * 4
    assert found.scores == pytest.approx([score(QUERY, document) for document in documents], abs=1e-6)
    assert len(found.truncated) == 256


async def test_a_question_that_does_not_fit_is_named(reranker: TritonReranker) -> None:
    with pytest.raises(InvalidInput) as caught:
        await reranker.rerank("слово " * 40, ["d"])
    assert (caught.value.reason, caught.value.field) == ("TEXT_TOO_LONG", "query")


def _scores(*values: float) -> Misbehaviour:
    data = np.array(values, "<f4")
    return replaced("SCORE", shape=(len(values), 1), data=data.tobytes())


@pytest.mark.parametrize(
    "misbehaviour",
    [
        lambda seen, outputs: b"\xff garbage",
        lambda seen, outputs: b"",
        *map(without, ("SCORE", "TRUNCATED", "FINGERPRINT", "WINDOW")),
        _scores(0.5, float("nan")),
        _scores(0.5, float("inf")),
        _scores(0.5, 1.001),
        _scores(-0.001, 0.5),
        _scores(0.5),
        _scores(0.5, 0.5, 0.5),
        replaced("SCORE", data=b"\0"),
        replaced("WINDOW", data=struct.pack("<ii", 32, 64)),
        replaced("WINDOW", data=struct.pack("<ii", 0, 0)),
        replaced("FINGERPRINT", data=packed(["0" * 16, "1" * 16])),
        replaced("FINGERPRINT", data=packed(["new", "new"])),
        replaced("TRUNCATED", data=b"\2\0"),
    ],
)
async def test_nonsense_is_told_from_an_answer(
    triton: TritonStandin, reranker: TritonReranker, misbehaviour: Misbehaviour
) -> None:
    triton.misbehaviour = misbehaviour
    with pytest.raises(Internal) as caught:
        await reranker.rerank(QUERY, ["a", "b"])
    assert "the reranking backend answered something that is no answer" in caught.value.message
    assert caught.value.metadata == {"backend": "reranking"}
    with pytest.raises(Unavailable):
        _ = reranker.description
    triton.misbehaviour = None
    await reranker.rerank(QUERY, ["a", "b"])


async def test_down_up_dead_and_back(triton: TritonStandin) -> None:
    await triton.stop()
    reranker = reranker_of(triton)
    with pytest.raises(Unavailable):
        await reranker.check()
    await triton.start()
    await recovered(reranker.check, Unavailable)
    triton.held = asyncio.Event()
    running = asyncio.create_task(reranker.rerank(QUERY, ["d"] * 256))
    await eventually(lambda: triton.running == 4)
    await triton.stop()
    with pytest.raises(Unavailable):
        await running
    triton.held = None
    await triton.start()
    await recovered(lambda: reranker.rerank(QUERY, ["d"]), Unavailable)
    await reranker.close()


@pytest.mark.parametrize(
    ("code", "details", "error"),
    [
        ("UNAVAILABLE", "[request id: <id_unknown>] Exceeds maximum queue size", Overloaded),
        ("NOT_FOUND", "Request for unknown model: 'qwen3_reranker' is not found", Unavailable),
        ("INTERNAL", "Stub process 'qwen3_reranker_0_0' is not healthy.", Unavailable),
        ("INTERNAL", "Failed to process the request(s)", Internal),
        ("INTERNAL", "[INTERNAL] the model failed", Internal),
    ],
)
async def test_what_the_server_refuses_has_a_clear_status(
    triton: TritonStandin, reranker: TritonReranker, code: str, details: str, error: type[RadrefError]
) -> None:
    triton.status = (grpc.StatusCode[code], details)
    with pytest.raises(error):
        await reranker.rerank(QUERY, ["d"])
    with pytest.raises(error):
        await reranker.check()
    triton.status = None
    await reranker.check()
    triton.status = (grpc.StatusCode[code], details)
    if error is Overloaded:
        await reranker.check()


async def test_a_slow_server_ends_in_the_deadline(triton: TritonStandin) -> None:
    reranker = reranker_of(triton, timeout=0.2)
    triton.held = asyncio.Event()
    with pytest.raises(DeadlineExceeded):
        await reranker.rerank(QUERY, ["d"] * 256)
    await eventually(lambda: triton.cancelled == 4)
    await reranker.close()


async def test_a_cancelled_caller_is_cancelled_at_the_server(
    triton: TritonStandin, reranker: TritonReranker
) -> None:
    triton.held = asyncio.Event()
    call = asyncio.create_task(reranker.rerank(QUERY, ["d"] * 256))
    await eventually(lambda: triton.running == 4)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await eventually(lambda: triton.cancelled == 4)


async def test_two_hundred_calls_stay_within_their_places(triton: TritonStandin) -> None:
    reranker = reranker_of(triton, concurrent=3, waiting=100)
    triton.held = asyncio.Event()
    calls = [asyncio.create_task(reranker.rerank("доза", [f"доза {i}"])) for i in range(200)]
    await eventually(lambda: triton.running == 3 and sum(call.done() for call in calls) == 97)
    triton.held.set()
    outcomes = await asyncio.gather(*calls, return_exceptions=True)
    assert triton.peak == 3
    assert sum(isinstance(outcome, Overloaded) for outcome in outcomes) == 97
    assert all(isinstance(o, Overloaded) or o.scores == [1.0] for o in outcomes)  # type: ignore[union-attr]
    await reranker.close()
