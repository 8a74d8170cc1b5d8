"""Qwen3-Reranker behind the real tritonserver, over the wire."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import pytest_asyncio
import tritonclient.grpc.aio as triton
from tritonclient.utils import InferenceServerException

from tests.triton.qwen3_reference import ReferenceReranker
from tests.triton.tiny_qwen3 import write_tiny_reranker
from tests.triton.triton_server import StartFailed, TritonServer, running_triton

MODEL = "qwen3_reranker"
INSTRUCTION = "Given a question of radiology staff, find the passage that answers it"
QUERY = "Какая доза при исследовании грудной клетки?"
# fp32 on one CPU; SCORE is fp32 too.
CLOSE = 2e-6
# Small matrices: several threads only wait for each other on a busy machine.
ONE_THREAD = {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_reranker(tmp_path_factory.mktemp("reranker") / "model")


@pytest.fixture(scope="module")
def server(path: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TritonServer]:
    work = tmp_path_factory.mktemp("triton-reranker")
    with running_triton(work, variables(path), models=[MODEL]) as running:
        yield running


@pytest.fixture(scope="module")
def reference(path: Path) -> ReferenceReranker:
    return ReferenceReranker(path)


@pytest_asyncio.fixture
async def client(server: TritonServer) -> AsyncIterator[triton.InferenceServerClient]:
    async with triton.InferenceServerClient(server.address) as made:
        yield made


def variables(path: Path) -> dict[str, str]:
    return {"RADREF_TRITON_QWEN3_RERANKER_DIR": str(path), **ONE_THREAD}


def inputs(query: str | bytes, documents: Sequence[str | bytes]) -> list[triton.InferInput]:
    columns = {
        "QUERY": [query] * len(documents),
        "DOCUMENT": documents,
        "INSTRUCTION": [INSTRUCTION] * len(documents),
    }
    made = []
    for name, texts in columns.items():
        raw = [text.encode() if isinstance(text, str) else text for text in texts]
        tensor = triton.InferInput(name, [len(raw), 1], "BYTES")
        tensor.set_data_from_numpy(np.array(raw, np.object_).reshape(-1, 1))
        made.append(tensor)
    return made


async def rerank(
    client: triton.InferenceServerClient, query: str | bytes, documents: Sequence[str | bytes]
) -> Any:
    return await client.infer(MODEL, inputs(query, documents), client_timeout=60.0)


async def statistics(client: triton.InferenceServerClient) -> tuple[int, int]:
    """Rows and executions so far, once they stand still: Triton counts a batch after it has answered it."""
    before = None
    while True:
        found = await client.get_inference_statistics(MODEL, as_json=True)
        model = found["model_stats"][0]
        counts = int(model.get("inference_count", 0)), int(model.get("execution_count", 0))
        if counts == before:
            return counts
        before = counts
        await asyncio.sleep(0.2)


async def test_scores_are_those_of_the_model_card(
    client: triton.InferenceServerClient, reference: ReferenceReranker
) -> None:
    documents = ["Доза составляет 0,1 мЗв.", "dose " * 50, "no", "yes 🩻"]
    found = await rerank(client, QUERY, documents)
    expected = [reference.score(QUERY, document, INSTRUCTION) for document in documents]
    assert found.as_numpy("SCORE").shape == (4, 1)
    assert found.as_numpy("SCORE").dtype == np.float32
    assert found.as_numpy("SCORE")[:, 0].tolist() == pytest.approx(expected, abs=CLOSE)
    assert found.as_numpy("TRUNCATED").tolist() == [[False]] * 4
    assert found.as_numpy("WINDOW").tolist() == [[8192]] * 4
    prints = {raw.decode() for raw in found.as_numpy("FINGERPRINT")[:, 0]}
    assert len(prints) == 1
    assert len(prints.pop()) == 16


async def test_a_long_document_is_cut_and_said_to_be(
    client: triton.InferenceServerClient, reference: ReferenceReranker
) -> None:
    long = "доза 0,1 мЗв. " * 1500
    found = await rerank(client, QUERY, [long, "no"])
    assert found.as_numpy("TRUNCATED").tolist() == [[True], [False]]
    ids = reference.ids(QUERY, long, INSTRUCTION)
    assert len(ids) == 8192
    assert found.as_numpy("SCORE")[0, 0] == pytest.approx(reference.score_ids(ids), abs=CLOSE)


async def test_two_hundred_concurrent_requests_are_batched(
    client: triton.InferenceServerClient, reference: ReferenceReranker
) -> None:
    rows, executions = await statistics(client)
    documents = [f"{index} dose " + "chest " * (index % 40) for index in range(200)]
    found = await asyncio.gather(*(rerank(client, QUERY, [document]) for document in documents))
    rows_after, executions_after = await statistics(client)
    assert rows_after - rows == 200
    assert executions_after - executions <= 100
    for index in range(0, 200, 23):
        expected = reference.score(QUERY, documents[index], INSTRUCTION)
        assert found[index].as_numpy("SCORE")[0, 0] == pytest.approx(expected, abs=CLOSE)


async def test_one_bad_request_fails_alone(
    client: triton.InferenceServerClient, reference: ReferenceReranker
) -> None:
    secret = "ivanov"
    bad: dict[str, tuple[str | bytes, list[str | bytes]]] = {
        "[TEXT_TOO_LONG]": (secret * 3000, ["dose"]),
        "[INVALID_FIELD]": (QUERY, [b"\xff" + secret.encode()]),
        "[EMPTY_TEXT]": (QUERY, [secret, " \n"]),
    }
    good = [rerank(client, QUERY, [f"{index} dose"]) for index in range(10)]
    *scored, long, broken, empty = await asyncio.gather(
        *good,
        *(rerank(client, query, documents) for query, documents in bad.values()),
        return_exceptions=True,
    )
    for reason, error in zip(bad, (long, broken, empty), strict=True):
        assert isinstance(error, InferenceServerException)
        assert error.message().startswith(reason)
        assert error.status() == "StatusCode.INVALID_ARGUMENT"
        assert secret not in error.message()
    for index, found in enumerate(scored):
        assert not isinstance(found, BaseException)
        expected = reference.score(QUERY, f"{index} dose", INSTRUCTION)
        assert found.as_numpy("SCORE")[0, 0] == pytest.approx(expected, abs=CLOSE)


async def test_a_full_queue_refuses_and_answers_the_rest(
    client: triton.InferenceServerClient, reference: ReferenceReranker
) -> None:
    small = inputs(QUERY, ["dose"])
    # The server may take them in any order, so the long one can be among the refused.
    long, *answers = await asyncio.gather(
        rerank(client, QUERY, ["chest " * 200] * 64),
        *(client.infer(MODEL, small) for _ in range(1000)),
        return_exceptions=True,
    )
    refused = [answer for answer in (long, *answers) if isinstance(answer, BaseException)]
    assert all(isinstance(error, InferenceServerException) for error in refused)
    messages = {error.message() for error in refused if isinstance(error, InferenceServerException)}
    assert any("maximum queue size" in message for message in messages)
    # On a slow machine some wait longer than the queue allows.
    assert all("maximum queue size" in each or "timeout expired" in each for each in messages)
    expected = reference.score(QUERY, "dose", INSTRUCTION)
    scores = {answer.as_numpy("SCORE")[0, 0] for answer in answers if not isinstance(answer, BaseException)}
    assert scores
    assert list(scores) == pytest.approx([expected] * len(scores), abs=CLOSE)
    assert isinstance(long, BaseException) or long.as_numpy("SCORE").shape == (64, 1)


async def test_a_cancelled_request_leaves_the_others_alone(client: triton.InferenceServerClient) -> None:
    tasks = [asyncio.create_task(rerank(client, QUERY, [f"{index} chest" * 50])) for index in range(40)]
    await asyncio.sleep(0.05)
    for task in tasks[::2]:
        task.cancel()
    found = await asyncio.gather(*tasks, return_exceptions=True)
    assert all(not isinstance(answer, BaseException) for answer in found[1::2])
    assert (await rerank(client, QUERY, ["dose"])).as_numpy("SCORE").shape == (1, 1)


def test_a_missing_directory_is_a_clear_error_at_start(tmp_path: Path) -> None:
    work = tmp_path / "server"
    work.mkdir()
    missing = tmp_path / "not-there"
    with pytest.raises(StartFailed) as failed, running_triton(work, variables(missing), models=[MODEL]):
        pass
    assert failed.value.code not in (None, 0)
    assert f"the model directory {missing} does not exist" in failed.value.log
