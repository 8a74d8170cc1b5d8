"""FRIDA behind the real tritonserver, over the wire."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import pytest_asyncio
import tritonclient.grpc.aio as triton
from tritonclient.utils import InferenceServerException

from tests.triton.frida_client import embed, tokenize
from tests.triton.frida_reference import DOCUMENT_PREFIX, QUERY_PREFIX, FridaReference
from tests.triton.triton_server import StartFailed, TritonServer, running_triton

# fp32 on one CPU, sums in another order.
CLOSE = 1e-5
TEXTS = (
    "What is the dose of a chest radiograph?",
    "Какова эффективная доза при КТ грудной клетки?",
    "мЗв",
    "emoji 🩻😀 and e\u0301, и\u0306, \u200b zero width",
    "literal </s><s><pad> is text",
    "  leading white space\n\nand  breaks ",
    "слово " * 900,
)
PARENT = (
    "# Доза\n\nЭффективная доза при КТ грудной клетки составляет 7 мЗв.  The dose is 0.1 mSv. 😀😀\n\n"
    "| a | b |\n|---|---|\n| и\u0306 | e\u0301 |\n"
)


@pytest_asyncio.fixture
async def client(triton_server: TritonServer) -> AsyncIterator[triton.InferenceServerClient]:
    async with triton.InferenceServerClient(triton_server.address) as made:
        yield made


async def statistics(client: triton.InferenceServerClient) -> tuple[int, int]:
    """Rows and executions so far, once they stand still: Triton counts after it has answered."""
    seen: tuple[int, int] | None = None
    while True:
        found = await client.get_inference_statistics("frida", as_json=True)
        model: dict[str, Any] = found["model_stats"][0]
        counts = int(model.get("inference_count", 0)), int(model.get("execution_count", 0))
        if counts == seen:
            return counts
        seen = counts
        await asyncio.sleep(0.1)


def spans_of(text: str, size: int) -> list[tuple[int, int]]:
    """Neighbours of `size` characters that overlap a little; none is only white space."""
    starts = range(0, len(text) - 1, size)
    found = [(start, min(start + size + size // 4, len(text))) for start in starts]
    return [(start, end) for start, end in found if not text[start:end].isspace()]


async def test_vectors_counts_and_flags_are_the_reference_s(
    client: triton.InferenceServerClient, frida_reference: FridaReference
) -> None:
    plain = [text for text in TEXTS if "</s>" not in text]
    for kind, prefix in (("query", QUERY_PREFIX), ("document", DOCUMENT_PREFIX)):
        found = await embed(client, plain, kind)
        vectors = found.as_numpy("EMBEDDING")
        assert (vectors.shape, vectors.dtype) == ((len(plain), 1, 64), np.float32)
        np.testing.assert_allclose(np.linalg.norm(vectors, axis=2), 1.0, atol=1e-6)
        for row, text in enumerate(plain):
            np.testing.assert_allclose(
                vectors[row, 0], frida_reference.text_vector(prefix + text), atol=CLOSE
            )
        counts = [frida_reference.token_count(prefix + text) for text in plain]
        assert found.as_numpy("TOKENS").tolist() == [[count] for count in counts]
        assert found.as_numpy("TRUNCATED").tolist() == [[count > 512] for count in counts]
        assert counts[-1] > 512


async def test_what_looks_like_a_special_token_is_text(client: triton.InferenceServerClient) -> None:
    found = await tokenize(client, ["</s>"], ["OFFSETS"], offsets=True)
    assert {(0, 1), (1, 2), (2, 3), (3, 4)} <= {
        (start, end) for start, end in found.as_numpy("OFFSETS").tolist()
    }


async def test_two_hundred_concurrent_requests_are_batched(
    client: triton.InferenceServerClient, frida_reference: FridaReference
) -> None:
    texts = [f"Доза {index} " + "chest dose " * (index % 60) for index in range(200)]
    rows, executions = await statistics(client)
    found = await asyncio.gather(*(embed(client, [text], "document") for text in texts))
    rows_after, executions_after = await statistics(client)
    assert rows_after - rows == 200
    assert executions_after - executions < 200 / 4
    for text, answer in zip(texts, found, strict=True):
        alone = frida_reference.text_vector(DOCUMENT_PREFIX + text)
        np.testing.assert_allclose(answer.as_numpy("EMBEDDING")[0, 0], alone, atol=CLOSE)
    again = await embed(client, texts[42:43], "document")
    np.testing.assert_allclose(again.as_numpy("EMBEDDING"), found[42].as_numpy("EMBEDDING"), atol=CLOSE)


@pytest.mark.parametrize("repeats", [1, 30], ids=["one window", "overlapping windows"])
async def test_late_chunks_are_the_reference_s(
    client: triton.InferenceServerClient, frida_reference: FridaReference, repeats: int
) -> None:
    text = PARENT * repeats
    spans = spans_of(text, 37)
    found = await embed(client, [text], "document", spans)
    vectors = found.as_numpy("EMBEDDING")
    assert vectors.shape == (1, len(spans), 64)
    np.testing.assert_allclose(vectors[0], frida_reference.span_vectors(text, spans), atol=CLOSE)
    count = frida_reference.token_count(DOCUMENT_PREFIX + text)
    assert (count > 512) == (repeats > 1)
    assert found.as_numpy("TOKENS").tolist() == [[count]]
    assert found.as_numpy("TRUNCATED").tolist() == [[False]]


async def test_questions_documents_and_spans_mix_in_one_batch(client: triton.InferenceServerClient) -> None:
    spans = spans_of(PARENT, 20)
    jobs = [
        (["dose"], "query", None),
        (["dose", "Доза " * 300], "document", None),
        ([PARENT], "document", spans),
        (["one", "two"], ["query", "document"], None),
    ] * 5
    alone = [await embed(client, *job) for job in jobs[:4]]
    found = await asyncio.gather(*(embed(client, *job) for job in jobs))
    for index, answer in enumerate(found):
        expected = alone[index % 4].as_numpy("EMBEDDING")
        np.testing.assert_allclose(answer.as_numpy("EMBEDDING"), expected, atol=CLOSE)


async def test_a_text_of_the_greatest_length_goes_through(client: triton.InferenceServerClient) -> None:
    text = ("Доза составляет 7 мЗв. " * 9000)[:200_000]
    spans = [(0, 500), (99_000, 101_000), (199_000, 200_000)]
    found = await embed(client, [text], "document", spans)
    assert np.isfinite(found.as_numpy("EMBEDDING")).all()
    assert found.as_numpy("TOKENS")[0, 0] > 20_000


BAD = {
    "out of range": (["Доза ivanov"], "document", [(0, 99)], "[INVALID_SPAN]"),
    "negative": (["Доза ivanov"], "document", [(-1, 3)], "[INVALID_SPAN]"),
    "empty span": (["Доза ivanov"], "document", [(3, 3)], "[INVALID_SPAN]"),
    "no token": (["Доза  ivanov"], "document", [(0, 4), (4, 6)], "[INVALID_SPAN]"),
    "descending": (["Доза ivanov"], "document", [(5, 9), (0, 4)], "[INVALID_SPAN]"),
    "nested": (["Доза ivanov"], "document", [(0, 9), (1, 4)], "[INVALID_SPAN]"),
    "no spans": (["Доза ivanov"], "document", [], "[INVALID_SPAN]"),
    "spans of a question": (["Доза ivanov"], "query", [(0, 4)], "[INVALID_FIELD]"),
    "spans of two": (["ivanov", "Доза"], "document", [(0, 4)], "[INVALID_FIELD]"),
    "empty text": (["ivanov", " \n"], "document", None, "[EMPTY_TEXT]"),
    "unknown kind": (["ivanov"], "passage", None, "[INVALID_FIELD]"),
    "not UTF-8": ([b"ivanov \xff"], "query", None, "[INVALID_FIELD]"),
    "too long": (["ivanov " * 30_000], "document", None, "[TEXT_TOO_LONG]"),
}


async def test_one_bad_request_fails_alone(
    client: triton.InferenceServerClient, frida_reference: FridaReference
) -> None:
    good = [f"{index} dose" for index in range(12)]
    found = await asyncio.gather(
        *(embed(client, [text]) for text in good),
        *(embed(client, texts, kind, spans) for texts, kind, spans, _ in BAD.values()),
        return_exceptions=True,
    )
    for text, answer in zip(good, found, strict=False):
        vector = answer.as_numpy("EMBEDDING")[0, 0]
        np.testing.assert_allclose(vector, frida_reference.text_vector(QUERY_PREFIX + text), atol=CLOSE)
    for (case, (*_, reason)), error in zip(BAD.items(), found[len(good) :], strict=True):
        # Two texts cannot share one SPANS tensor: Triton itself refuses the shape.
        assert isinstance(error, InferenceServerException), case
        assert error.message().startswith(reason) or case == "spans of two", (case, error.message())
        assert error.status() == "StatusCode.INVALID_ARGUMENT"
        assert "ivanov" not in error.message()


async def test_cancelled_requests_leave_the_others_alone(client: triton.InferenceServerClient) -> None:
    tasks = [asyncio.create_task(embed(client, [f"{index} dose " * 100], "document")) for index in range(60)]
    await asyncio.sleep(0.02)
    for task in tasks[::2]:
        task.cancel()
    found = await asyncio.gather(*tasks, return_exceptions=True)
    assert not any(isinstance(answer, BaseException) for answer in found[1::2])


async def test_a_full_queue_refuses_and_the_rest_is_answered(client: triton.InferenceServerClient) -> None:
    found = await asyncio.gather(
        *(embed(client, ["доза " * 400], "document") for _ in range(900)), return_exceptions=True
    )
    refused = [answer for answer in found if isinstance(answer, BaseException)]
    assert {(error.status(), "maximum queue size" in error.message()) for error in refused} == {
        ("StatusCode.UNAVAILABLE", True)
    }
    assert len(found) - len(refused) >= 512
    assert (await embed(client, ["dose"])).as_numpy("EMBEDDING").shape == (1, 1, 64)


async def test_the_tokenizer_describes_the_model_that_answers(client: triton.InferenceServerClient) -> None:
    names = ("FINGERPRINT", "TOKENIZER", "DIMENSION", "WINDOW", "QUERY_PREFIX", "DOCUMENT_PREFIX")
    described = await tokenize(client, [], [*names, "DOCUMENT_OVERHEAD", "COUNT"])
    vectors = await embed(client, ["dose", "доза"], "document")
    assert vectors.as_numpy("FINGERPRINT").tolist() == [[described.as_numpy("FINGERPRINT")[0]]] * 2
    assert len(described.as_numpy("TOKENIZER")[0]) == 16
    assert described.as_numpy("DIMENSION").tolist() == [64]
    assert described.as_numpy("WINDOW").tolist() == [512]
    assert described.as_numpy("QUERY_PREFIX").tolist() == [QUERY_PREFIX.encode()]
    assert described.as_numpy("DOCUMENT_PREFIX").tolist() == [DOCUMENT_PREFIX.encode()]
    assert described.as_numpy("COUNT").shape == (0,)
    counts = await tokenize(client, list(TEXTS), ["COUNT"])
    assert [output.name for output in counts.get_response().outputs] == ["COUNT"]
    overhead = int(described.as_numpy("DOCUMENT_OVERHEAD")[0])
    tokens = (await embed(client, TEXTS, "document")).as_numpy("TOKENS")[:, 0]
    assert (counts.as_numpy("COUNT") + overhead).tolist() == tokens.tolist()


async def test_offsets_reproduce_the_text(client: triton.InferenceServerClient) -> None:
    found = await tokenize(client, [*TEXTS, "", PARENT], ["COUNT", "OFFSETS"], offsets=True)
    offsets, counts = found.as_numpy("OFFSETS"), found.as_numpy("COUNT").tolist()
    assert counts[-2] == 0
    assert offsets.shape == (sum(counts), 2)
    position = 0
    for text, count in zip([*TEXTS, "", PARENT], counts, strict=True):
        own = offsets[position : position + count]
        position += count
        assert (np.diff(own, axis=0) >= 0).all()
        covered = {place for start, end in own.tolist() for place in range(start, end)}
        assert covered <= set(range(len(text)))
        assert all(text[place].isspace() for place in set(range(len(text))) - covered)
        for start, end in own.tolist():
            assert not text[start:end][:1].isspace() or text[start:end].isspace()


def start_failure(work: Path, directory: Path, *models: str) -> StartFailed:
    named = {"RADREF_TRITON_FRIDA_DIR": str(directory)}
    work.mkdir()
    with pytest.raises(StartFailed) as caught, running_triton(work, named, models):
        pass
    assert caught.value.code not in (None, 0)
    return caught.value


def test_a_missing_or_wrong_directory_ends_the_server(tiny_frida: Path, tmp_path: Path) -> None:
    missing = start_failure(tmp_path / "1", tmp_path / "nowhere", "frida")
    assert f"{tmp_path / 'nowhere'} does not exist" in missing.log
    assert "ai-forever/FRIDA" in missing.log
    other = tmp_path / "other"
    shutil.copytree(tiny_frida, other)
    config = (other / "config.json").read_text("utf-8")
    (other / "config.json").write_text(config.replace("T5EncoderModel", "Qwen3ForCausalLM"), "utf-8")
    assert "holds another model" in start_failure(tmp_path / "2", other, "frida_tokenizer").log
