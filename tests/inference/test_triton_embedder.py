"""TritonEmbedder against a stand-in over real gRPC: what is sent, what comes back, in which order."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator

import grpc
import numpy as np
import pytest
import pytest_asyncio

from inference_svc.embedders.embedder import SpannedText
from inference_svc.embedders.triton.embedder import TritonEmbedder
from inference_svc.places import Places
from inference_svc.triton_tensors import MAX_REQUEST_BYTES
from radref.errors import DeadlineExceeded, InvalidInput, Overloaded, Unavailable
from radref.service.context import Call, set_current_call
from tests.inference.triton_standin import TritonStandin, eventually, words

TIMEOUT = 30.0


@pytest_asyncio.fixture
async def triton() -> AsyncIterator[TritonStandin]:
    standin = TritonStandin()
    await standin.start()
    yield standin
    if standin.held is not None:
        standin.held.set()
    await standin.stop()


def places(concurrent: int = 64, waiting: int = 1_024) -> Places:
    return Places("embedder", concurrent=concurrent, waiting=waiting, observe_wait=lambda _: None)


@pytest_asyncio.fixture
async def embedder(triton: TritonStandin) -> AsyncIterator[TritonEmbedder]:
    made = embedder_of(triton)
    yield made
    await made.close()


def embedder_of(
    triton: TritonStandin,
    *,
    timeout: float = TIMEOUT,
    questions: Places | None = None,
    documents: Places | None = None,
    computed: list[float] | None = None,
) -> TritonEmbedder:
    return TritonEmbedder(
        triton.target,
        timeout=timeout,
        places=questions or places(),
        document_places=documents or places(),
        observe_compute=([] if computed is None else computed).append,
    )


async def test_the_description_is_unknown_until_the_backend_answered(
    triton: TritonStandin, embedder: TritonEmbedder
) -> None:
    assert embedder.id == "frida"
    with pytest.raises(Unavailable) as caught:
        _ = embedder.description
    assert caught.value.reason == "NOT_READY"
    await embedder.check()
    found = embedder.description
    assert (found.id, found.backend, found.fingerprint) == ("frida", "triton", triton.fingerprint)
    assert (found.dimension, found.window, found.document_overhead) == (8, 32, 2)
    assert (found.query_prefix, found.document_prefix) == ("search_query: ", "search_document: ")
    assert found.tokenizer == "a" * 16


async def test_vectors_counts_and_flags_come_back_in_order(
    triton: TritonStandin, embedder: TritonEmbedder
) -> None:
    texts = ["доза при КТ", "chest radiograph", "слово " * 40, "𝔘nicode 🫁"]
    for kind, embed in (("query", embedder.embed_queries), ("document", embedder.embed_documents)):
        found = await embed(texts)
        assert found.vectors.dtype == np.float32
        np.testing.assert_allclose(found.vectors, [triton.vector(kind, text) for text in texts], atol=1e-6)
        assert list(found.token_counts) == [len(words(text)) + 2 for text in texts]
        assert list(found.truncated) == [False, False, True, False]
        assert found.fingerprint == triton.fingerprint


async def test_questions_and_urgent_documents_go_first(
    triton: TritonStandin, embedder: TritonEmbedder
) -> None:
    await embedder.embed_queries(["a"])
    await embedder.embed_documents(["a"], urgent=True)
    await embedder.embed_documents(["a"])
    await embedder.embed_spans([SpannedText("a", [(0, 1)])])
    assert [seen.priority for seen in triton.of("frida")] == [1, 1, 2, 2]
    assert [seen.inputs["KIND"] for seen in triton.of("frida")] == [["query"]] + [["document"]] * 3


async def test_documents_do_not_take_the_places_of_questions(triton: TritonStandin) -> None:
    embedder = embedder_of(triton, documents=places(1, 1))
    await embedder.check()
    triton.held = asyncio.Event()
    waiting = [asyncio.create_task(embedder.embed_documents(["d"])) for _ in range(2)]
    await eventually(lambda: triton.running == 1)
    with pytest.raises(Overloaded):
        await embedder.embed_documents(["d"])
    question = asyncio.create_task(embedder.embed_queries(["q"]))
    await eventually(lambda: triton.running == 2)
    triton.held.set()
    await asyncio.gather(question, *waiting)
    await embedder.close()


async def test_large_calls_are_split_and_put_together_again(
    triton: TritonStandin, embedder: TritonEmbedder
) -> None:
    texts = [f"text {index}" for index in range(256)]
    found = await embedder.embed_documents(texts)
    assert sorted(len(seen.inputs["TEXT"]) for seen in triton.of("frida")) == [64] * 4
    np.testing.assert_allclose(found.vectors, [triton.vector("document", t) for t in texts], atol=1e-6)
    triton.seen.clear()
    long = ["ш" * 200_000] * 20
    assert len((await embedder.embed_documents(long)).vectors) == 20
    assert max(len(seen.inputs["TEXT"]) for seen in triton.of("frida")) * 800_000 <= MAX_REQUEST_BYTES


async def test_no_text_is_no_request(triton: TritonStandin, embedder: TritonEmbedder) -> None:
    await embedder.check()
    triton.seen.clear()
    assert (await embedder.embed_documents([])).vectors.shape == (0, 8)
    assert (await embedder.embed_spans([])).texts == []
    assert await embedder.tokenize([], want_offsets=True) == []
    assert triton.seen == []


async def test_spans_are_pooled_one_request_a_text(triton: TritonStandin, embedder: TritonEmbedder) -> None:
    texts = [SpannedText(f"доза {i} при КТ", [(0, 4), (2, 6 + len(str(i)))]) for i in range(30)]
    found = await embedder.embed_spans(texts)
    assert len(triton.of("frida")) == 30
    assert found.compute_seconds == 0  # not known
    for spanned, got in zip(texts, found.texts, strict=True):
        expected = [triton.vector("span", spanned.text[start:end]) for start, end in spanned.spans]
        np.testing.assert_allclose(got.vectors, expected, atol=1e-6)
        assert (got.token_count, got.fingerprint) == (6, triton.fingerprint)


async def test_a_span_without_a_token_is_named(embedder: TritonEmbedder) -> None:
    good = SpannedText("доза", [(0, 4)])
    with pytest.raises(InvalidInput) as caught:
        await embedder.embed_spans([good, good, SpannedText("а   б", [(0, 1), (2, 3)])])
    assert (caught.value.reason, caught.value.field) == ("INVALID_SPAN", "spans.texts[2].spans")
    assert caught.value.message == "this span holds no text, or only white space"


async def test_tokens_are_counted_and_placed(triton: TritonStandin, embedder: TritonEmbedder) -> None:
    texts = [" доза при  КТ", "  ", "🫁 лёгкие", *(f"n {i}" for i in range(130))]
    plain = await embedder.tokenize(texts, want_offsets=False)
    assert [found.count for found in plain] == [len(words(text)) for text in texts]
    assert all(found.offsets is None for found in plain)
    placed = await embedder.tokenize(texts, want_offsets=True)
    for text, found in zip(texts, placed, strict=True):
        assert found.offsets is not None
        assert found.offsets.dtype == np.int64
        assert found.offsets.shape == (found.count, 2)
        assert [tuple(pair) for pair in found.offsets.tolist()] == words(text)
    assert embedder.description.document_overhead == 2
    assert max(len(seen.inputs["TEXT"]) for seen in triton.of("frida_tokenizer")) == 64


async def test_long_texts_are_tokenized_in_small_messages(
    triton: TritonStandin, embedder: TritonEmbedder
) -> None:
    texts = ["доза " * 30_000] * 8
    found = await embedder.tokenize(texts, want_offsets=True)
    assert [text.count for text in found] == [30_000] * 8
    sizes = [sum(map(len, seen.inputs["TEXT"])) for seen in triton.of("frida_tokenizer")]
    assert max(sizes) * 4 <= MAX_REQUEST_BYTES


async def test_replaced_weights_are_noticed(triton: TritonStandin, embedder: TritonEmbedder) -> None:
    await embedder.check()
    old = triton.fingerprint
    triton.fingerprint, triton.dimension, triton.window = "f" * 16, 12, 64
    found = await embedder.embed_queries(["доза"])
    assert found.fingerprint == "f" * 16 != old
    assert found.vectors.shape == (1, 12)
    assert (embedder.description.fingerprint, embedder.description.dimension) == ("f" * 16, 12)
    assert embedder.description.window == 64
    triton.fingerprint = old
    await embedder.tokenize(["доза"], want_offsets=False)
    assert embedder.description.fingerprint == old


async def test_model_and_tokenizer_of_different_weights_are_refused(
    triton: TritonStandin, embedder: TritonEmbedder
) -> None:
    triton.tokenizer_fingerprint = "e" * 16
    with pytest.raises(Unavailable) as caught:
        await embedder.check()
    assert triton.fingerprint in caught.value.message
    assert "e" * 16 in caught.value.message


async def test_weights_replaced_within_a_call_are_not_mixed(
    triton: TritonStandin, embedder: TritonEmbedder
) -> None:
    await embedder.check()
    answered = 0

    def replace_after_two(seen: object, outputs: list[object]) -> None:
        nonlocal answered
        answered += 1
        if answered == 2:
            triton.fingerprint = "f" * 16

    triton.misbehaviour = replace_after_two
    with pytest.raises(Unavailable):
        await embedder.embed_documents(["d"] * 256)
    triton.misbehaviour = None
    assert (await embedder.embed_documents(["d"] * 256)).fingerprint == "f" * 16


async def test_a_busy_server_is_up(triton: TritonStandin, embedder: TritonEmbedder) -> None:
    full = (grpc.StatusCode.UNAVAILABLE, "[request id: <id_unknown>] Exceeds maximum queue size")
    triton.status = full
    with pytest.raises(Overloaded):  # it has never answered, so nothing is known of it
        await embedder.check()
    triton.status = None
    await embedder.check()
    triton.status = full
    await embedder.check()
    with pytest.raises(Overloaded) as caught:
        await embedder.embed_queries(["q"])
    assert caught.value.retry_after


async def test_a_check_does_not_wait_behind_our_own_queue(triton: TritonStandin) -> None:
    embedder = embedder_of(triton, questions=places(1, 0))
    triton.held = asyncio.Event()
    waiting = asyncio.create_task(embedder.embed_queries(["q"]))
    await eventually(lambda: triton.running == 1)
    check = asyncio.create_task(embedder.check())
    await eventually(lambda: triton.running == 2)
    triton.held.set()
    await asyncio.gather(waiting, check)
    await embedder.close()


async def test_two_hundred_calls_stay_within_their_places(triton: TritonStandin) -> None:
    computed: list[float] = []
    embedder = embedder_of(triton, questions=places(4, 196), computed=computed)
    await embedder.embed_queries(["first"])
    triton.held = asyncio.Event()
    calls = [asyncio.create_task(embedder.embed_queries([f"q {i}"])) for i in range(200)]
    await eventually(lambda: triton.running == 4)
    triton.held.set()
    found = await asyncio.gather(*calls)
    assert triton.peak == 4
    for index, got in enumerate(found):
        np.testing.assert_allclose(got.vectors[0], triton.vector("query", f"q {index}"), atol=1e-6)
    assert len(computed) == 201
    await embedder.close()


async def test_beyond_the_queue_calls_are_refused(triton: TritonStandin) -> None:
    embedder = embedder_of(triton, questions=places(2, 3))
    await embedder.check()
    triton.held = asyncio.Event()
    calls = [asyncio.create_task(embedder.embed_queries(["q"])) for _ in range(10)]
    await eventually(lambda: sum(call.done() for call in calls) == 5)
    triton.held.set()
    outcomes = await asyncio.gather(*calls, return_exceptions=True)
    refused = [outcome for outcome in outcomes if isinstance(outcome, Overloaded)]
    assert (len(refused), triton.peak) == (5, 2)
    assert all(error.retry_after for error in refused)
    await embedder.close()


async def test_the_callers_deadline_and_id_travel_along(
    triton: TritonStandin, embedder: TritonEmbedder
) -> None:
    set_current_call(Call(request_id="r-1", method="/x/Embed", deadline=time.monotonic() + 12))
    await embedder.embed_queries(["q"])
    assert triton.seen[0].request_id == "r-1"
    # On the wire a deadline is rounded up to tenths of a second.
    assert triton.seen[0].time_remaining < 12 + 0.2
    set_current_call(Call(request_id="r-2", method="/x/Embed", deadline=time.monotonic() + 900))
    await embedder.embed_queries(["q"])
    assert triton.seen[-1].time_remaining <= TIMEOUT + 0.2


async def test_a_slow_server_ends_in_the_deadline(triton: TritonStandin) -> None:
    embedder = embedder_of(triton, timeout=0.2)
    triton.held = asyncio.Event()
    with pytest.raises(DeadlineExceeded):
        await embedder.embed_queries(["q"])
    await eventually(lambda: triton.cancelled == 1)
    triton.held.set()
    await embedder.embed_queries(["q"])
    await embedder.close()


async def test_the_wait_for_a_place_counts(triton: TritonStandin) -> None:
    own = places(1, 8)
    patient, hasty = embedder_of(triton, questions=own), embedder_of(triton, questions=own, timeout=0.2)
    triton.held = asyncio.Event()
    first = asyncio.create_task(patient.embed_queries(["q"]))
    await eventually(lambda: triton.running == 1)
    with pytest.raises(DeadlineExceeded):
        await hasty.embed_queries(["q"])
    triton.held.set()
    await first
    assert len(triton.of("frida")) == 1
    await asyncio.gather(patient.close(), hasty.close())


async def test_a_cancelled_caller_is_cancelled_at_the_server(
    triton: TritonStandin, embedder: TritonEmbedder
) -> None:
    await embedder.check()
    triton.held = asyncio.Event()
    spanned = [SpannedText("доза", [(0, 4)])] * 5
    calls = [
        asyncio.create_task(embedder.embed_queries(["q"])),
        asyncio.create_task(embedder.embed_spans(spanned)),
    ]
    await eventually(lambda: triton.running == 6)
    for call in calls:
        call.cancel()
    for call in calls:
        with pytest.raises(asyncio.CancelledError):
            await call
    await eventually(lambda: triton.cancelled == 6 and triton.running == 0)


async def test_close_waits_for_what_runs_and_refuses_the_rest(triton: TritonStandin) -> None:
    embedder = embedder_of(triton, questions=places(1, 8))
    await embedder.check()
    triton.held = asyncio.Event()
    running = asyncio.create_task(embedder.embed_queries(["q"]))
    await eventually(lambda: triton.running == 1)
    waiting = asyncio.create_task(embedder.embed_queries(["q"]))
    await asyncio.sleep(0)
    closing = asyncio.create_task(embedder.close())
    await asyncio.sleep(0)
    assert not closing.done()
    triton.held.set()
    assert (await running).vectors.shape == (1, 8)
    with pytest.raises(Unavailable):
        await waiting
    await closing
    with pytest.raises(Unavailable):
        await embedder.embed_queries(["q"])


async def test_replicas_behind_one_name_all_work() -> None:
    replicas = [TritonStandin(), TritonStandin()]
    for replica in replicas:
        await replica.start()
    made = TritonEmbedder(
        f"ipv4:{','.join(replica.target for replica in replicas)}",
        timeout=TIMEOUT,
        places=places(),
        document_places=places(),
        observe_compute=lambda _: None,
    )
    try:
        async with asyncio.timeout(TIMEOUT):
            # The second connection may come a moment after the first.
            while not all(replica.seen for replica in replicas):
                await made.embed_queries(["доза"])
    finally:
        await made.close()
        for replica in replicas:
            await replica.stop()
