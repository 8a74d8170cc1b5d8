"""What Triton's process makes of config.pbtxt and of requests, without Triton."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from google.protobuf import json_format, text_format
from numpy.typing import NDArray
from tritonclient.grpc import model_config_pb2

from inference_svc.triton.errors import RequestError, StartError
from inference_svc.triton.qwen3_reranker_model import DIRECTORY_VARIABLE, RerankerModel
from tests.triton.tiny_qwen3 import write_tiny_reranker
from tests.triton.triton_server import REPOSITORY


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_reranker(tmp_path_factory.mktemp("reranker") / "model")


@pytest.fixture(autouse=True)
def _no_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(DIRECTORY_VARIABLE, raising=False)


@pytest.fixture
def model(path: Path) -> RerankerModel:
    return RerankerModel.start(arguments(model_dir=str(path), window="300", max_text_characters="2000"))


def arguments(**changed: str) -> dict[str, str]:
    """Of initialize(), with the parameters of the repository's config.pbtxt, some of them changed."""
    config = text_format.Parse(
        (REPOSITORY / "qwen3_reranker/config.pbtxt").read_text(encoding="utf-8"),
        model_config_pb2.ModelConfig(),
    )
    for name, value in changed.items():
        assert name in config.parameters
        config.parameters[name].string_value = value
    parsed = json_format.MessageToDict(config, preserving_proto_field_name=True)
    return {
        "model_config": json.dumps(parsed),
        "model_instance_kind": "CPU",
        "model_instance_device_id": "0",
    }


def column(texts: Sequence[str | bytes]) -> NDArray[Any]:
    raw = [text.encode() if isinstance(text, str) else text for text in texts]
    return np.array(raw, np.object_).reshape(-1, 1)


def tensors(
    documents: Sequence[str | bytes], query: str = "dose?", instruction: str = "find"
) -> dict[str, NDArray[Any]]:
    count = len(documents)
    return {
        "QUERY": column([query] * count),
        "DOCUMENT": column(documents),
        "INSTRUCTION": column([instruction] * count),
    }


def always(_: int) -> bool:
    return True


def test_the_answer_has_one_row_a_pair(model: RerankerModel) -> None:
    (answer,) = model.answer([tensors(["dose", "chest " * 300])], always)
    assert isinstance(answer, dict)
    assert answer["SCORE"].dtype == np.float32
    assert ((answer["SCORE"] > 0) & (answer["SCORE"] < 1)).all()
    assert answer["TRUNCATED"].tolist() == [[False], [True]]
    assert answer["WINDOW"].tolist() == [[300], [300]]
    assert {name: array.shape for name, array in answer.items()} == dict.fromkeys(
        ("SCORE", "TRUNCATED", "FINGERPRINT", "WINDOW"), (2, 1)
    )


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (tensors(["dose", " \n"]), "EMPTY_TEXT"),
        (tensors(["dose"], query=""), "EMPTY_TEXT"),
        (tensors(["dose"], instruction=" "), "EMPTY_TEXT"),
        (tensors(["dose", b"\xd0"]), "INVALID_FIELD"),
        (tensors(["d" * 2001]), "TEXT_TOO_LONG"),
        (tensors(["dose"], query="доза " * 350), "TEXT_TOO_LONG"),
        (tensors(["dose"], instruction="find " * 350), "TEXT_TOO_LONG"),
        (tensors(["dose"]) | {"QUERY": column(["a", "b"])}, "INVALID_FIELD"),
    ],
)
def test_a_bad_request_fails_alone(model: RerankerModel, bad: dict[str, NDArray[Any]], reason: str) -> None:
    good = tensors(["dose", "no"])
    (alone,) = model.answer([good], always)
    first, failed, last = model.answer([good, bad, good], always)
    assert isinstance(failed, RequestError)
    assert failed.reason == reason
    assert isinstance(alone, dict)
    for answer in (first, last):
        assert isinstance(answer, dict)
        np.testing.assert_allclose(answer["SCORE"], alone["SCORE"], atol=2e-6)


def test_nobody_waits_for_a_cancelled_request(model: RerankerModel) -> None:
    first, second = model.answer([tensors(["dose"]), tensors(["dose", "no"])], lambda place: place == 0)
    assert isinstance(first, dict)
    assert isinstance(second, RequestError)
    assert second.reason == "CANCELLED"


def test_no_requests_no_answers(model: RerankerModel) -> None:
    assert model.answer([], always) == []


def test_the_variable_goes_before_the_parameter(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(DIRECTORY_VARIABLE, str(path))
    started = RerankerModel.start(arguments(model_dir="/not-there"))
    assert str(path) in started.summary
    assert started.device == torch.device("cpu")


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("window", "255", "window"),
        ("window", "32769", "window"),
        ("window", "many", "window"),
        ("batch_tokens", "8191", "batch_tokens"),
        ("max_text_characters", "0", "max_text_characters"),
        ("dtype", "int8", "dtype"),
        ("model_dir", "", DIRECTORY_VARIABLE),
        ("model_dir", "/not-there", "does not exist"),
    ],
)
def test_a_wrong_parameter_is_a_clear_error(path: Path, name: str, value: str, message: str) -> None:
    with pytest.raises(StartError, match=message):
        RerankerModel.start(arguments(**{"model_dir": str(path), name: value}))


@pytest.mark.parametrize("missing", ["config.json", "tokenizer.json", "model.safetensors"])
def test_an_incomplete_directory_is_a_clear_error(path: Path, tmp_path: Path, missing: str) -> None:
    incomplete = Path(shutil.copytree(path, tmp_path / "incomplete"))
    (incomplete / missing).unlink()
    with pytest.raises(StartError, match=str(incomplete)):
        RerankerModel.start(arguments(model_dir=str(incomplete)))


def test_a_model_that_answers_nonsense_does_not_start(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def not_a_number(input_tensor: torch.Tensor, dim: int) -> torch.Tensor:
        return torch.full_like(input_tensor, torch.nan)

    monkeypatch.setattr(torch, "softmax", not_a_number)
    with pytest.raises(StartError, match="does not answer a first request"):
        RerankerModel.start(arguments(model_dir=str(path)))
