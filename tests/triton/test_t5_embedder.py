"""FRIDA in process: plans, batches, errors; and the plain parts below it."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from transformers import T5EncoderModel

from inference_svc.triton.batches import length_sorted_batches
from inference_svc.triton.devices import pick_device, pick_dtype
from inference_svc.triton.embed_calls import EmbedAnswer, EmbedCall
from inference_svc.triton.errors import RequestError, StartError
from inference_svc.triton.frida_settings import FridaSettings
from inference_svc.triton.loading import load_model
from inference_svc.triton.parameters import Parameters
from inference_svc.triton.t5_embedder import T5Embedder
from inference_svc.triton.t5_encoder import T5Encoder, TokenSequence
from inference_svc.triton.weights import open_model_directory
from inference_svc.windows import windows
from tests.triton.frida_reference import DOCUMENT_PREFIX, QUERY_PREFIX, FridaReference
from tests.triton.tiny_t5 import DIMENSION
from tests.triton.triton_server import REPOSITORY

CLOSE = 1e-5
SETTINGS = FridaSettings(QUERY_PREFIX, DOCUMENT_PREFIX, "cls", 512, 256, 1024)
CPU = torch.device("cpu")


class CountingEncoder:
    """A real encoder that notes how many sequences pass, and fails as told.

    Args:
        encoder: does the work.
        fits: sequences that fit into memory at once.
        damaged: token id whose sequences come back as NaN.
    """

    def __init__(self, encoder: T5Encoder, *, damaged: int | None = None) -> None:
        self._encoder, self._damaged = encoder, damaged
        self.passed: list[int] = []

    def range_sums(self, sequences: Sequence[TokenSequence]) -> list[NDArray[np.float32]]:
        self.passed.append(len(sequences))
        found = self._encoder.range_sums(sequences)
        for sequence, sums in zip(sequences, found, strict=True):
            if self._damaged is not None and self._damaged in sequence.ids:
                sums[:] = np.nan
        return found


@pytest.fixture(scope="module")
def encoder(tiny_frida: Path) -> T5Encoder:
    directory = open_model_directory(tiny_frida, ("T5EncoderModel",))
    model = load_model(T5EncoderModel, directory, device=CPU, dtype=torch.float32)
    return T5Encoder(model, CPU)


def made(path: Path, encoder: object, settings: FridaSettings = SETTINGS) -> T5Embedder:
    tokenizer = settings.open_tokenizer(open_model_directory(path, ("T5EncoderModel",)))
    return T5Embedder(tokenizer, encoder, DIMENSION, settings)  # type: ignore[arg-type]


def vectors(answer: EmbedAnswer | RequestError) -> NDArray[np.float32]:
    assert isinstance(answer, EmbedAnswer), answer
    return answer.vectors


@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_pooling_is_the_model_card_s(
    tiny_frida: Path, encoder: T5Encoder, frida_reference: FridaReference, pooling: str
) -> None:
    embedder = made(tiny_frida, encoder, replace(SETTINGS, pooling=pooling))
    texts = ["dose", "Доза при КТ " * 20, "a", "слово " * 700]
    (answer,) = embedder.embed([EmbedCall(texts, [False, True, True, False])])
    prefixes = [DOCUMENT_PREFIX, QUERY_PREFIX, QUERY_PREFIX, DOCUMENT_PREFIX]
    for row, (prefix, text) in enumerate(zip(prefixes, texts, strict=True)):
        expected = frida_reference.text_vector(prefix + text, pooling)
        np.testing.assert_allclose(vectors(answer)[row, 0], expected, atol=CLOSE)


def test_batches_hold_no_more_than_they_may(tiny_frida: Path, encoder: T5Encoder) -> None:
    counting = CountingEncoder(encoder)
    text = "Доза 7 мЗв. " * 400
    spans = np.array([[0, 100], [2000, 2100], [4000, 4800]])
    calls = [EmbedCall([text], [False], spans), EmbedCall([text] * 5, [False] * 5)]
    made(tiny_frida, counting).embed(calls)
    assert max(counting.passed) == 1024 // 512
    assert sum(counting.passed) > 7


def test_windows_that_no_span_touches_are_not_computed(tiny_frida: Path, encoder: T5Encoder) -> None:
    counting = CountingEncoder(encoder)
    call = EmbedCall(["Доза 7 мЗв. " * 2000], [False], np.array([[12, 16]]))
    vectors(made(tiny_frida, counting).embed([call])[0])
    assert counting.passed == [1]


def test_nobody_computes_for_callers_that_left(tiny_frida: Path, encoder: T5Encoder) -> None:
    counting = CountingEncoder(encoder)
    embedder = made(tiny_frida, counting)
    calls = [EmbedCall([f"{index} dose"], [True]) for index in range(4)]
    answers = embedder.embed(calls, lambda index: index % 2 == 0)
    assert [isinstance(answer, EmbedAnswer) for answer in answers] == [True, False, True, False]
    assert "[CANCELLED]" in str(answers[1])
    assert sum(counting.passed) == 2


def test_vectors_that_are_not_finite_are_an_error_of_their_request(
    tiny_frida: Path, encoder: T5Encoder, frida_reference: FridaReference
) -> None:
    (damaged,) = frida_reference.tokenizer("😀", add_special_tokens=False)["input_ids"][:1]
    embedder = made(tiny_frida, CountingEncoder(encoder, damaged=damaged))
    good, bad = embedder.embed([EmbedCall(["dose"], [True]), EmbedCall(["dose", "😀"], [True, True])])
    assert isinstance(good, EmbedAnswer)
    assert isinstance(bad, RequestError)
    assert bad.reason == "INTERNAL"


def test_a_batch_too_large_for_memory_goes_in_halves(encoder: T5Encoder) -> None:
    class Small:
        def __init__(self, model: object, rows: int) -> None:
            self.model, self.rows = model, rows

        def __call__(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> object:
            if len(input_ids) > self.rows:
                raise torch.OutOfMemoryError
            return self.model(input_ids=input_ids, attention_mask=attention_mask)  # type: ignore[operator]

    model = encoder._model
    sequences = [TokenSequence(np.arange(4, 9 + index), np.array([[0, 3]])) for index in range(5)]
    whole = encoder.range_sums(sequences)
    for one, other in zip(T5Encoder(Small(model, 2), CPU).range_sums(sequences), whole, strict=True):
        np.testing.assert_allclose(one, other, atol=CLOSE)
    with pytest.raises(torch.OutOfMemoryError):
        T5Encoder(Small(model, 0), CPU).range_sums(sequences)


def test_memory_that_never_suffices_is_said(tiny_frida: Path) -> None:
    class Full:
        def range_sums(self, sequences: Sequence[TokenSequence]) -> list[NDArray[np.float32]]:
            raise torch.OutOfMemoryError

    (answer,) = made(tiny_frida, Full()).embed([EmbedCall(["dose"], [True])])
    assert isinstance(answer, RequestError)
    assert answer.reason == "BACKEND_UNAVAILABLE"


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_points_the_same_way(
    tiny_frida: Path, frida_reference: FridaReference, dtype: torch.dtype
) -> None:
    directory = open_model_directory(tiny_frida, ("T5EncoderModel",))
    model = load_model(T5EncoderModel, directory, device=CPU, dtype=dtype, fp32_parts={"wo"})
    (answer,) = made(tiny_frida, T5Encoder(model, CPU)).embed([EmbedCall(["Доза 7 мЗв"], [True])])
    assert vectors(answer)[0, 0] @ frida_reference.text_vector(QUERY_PREFIX + "Доза 7 мЗв") > 0.999


def test_windows_cover_and_owned_ranges_partition() -> None:
    random = np.random.default_rng(0)
    for _ in range(300):
        tokens, stride = int(random.integers(1, 3000)), int(random.integers(1, 300))
        capacity = stride + int(random.integers(1, 300))
        found = windows(tokens, capacity, stride)
        assert (found[0].own_start, found[-1].own_end, found[-1].end) == (0, tokens, tokens)
        for each in found:
            assert each.end - each.start <= capacity
            assert each.start <= each.own_start < each.own_end <= each.end
        assert all(before.own_end == after.own_start for before, after in pairwise(found))


def test_batches_hold_every_index_once_and_keep_the_bound() -> None:
    random = np.random.default_rng(0)
    for _ in range(100):
        lengths = random.integers(1, 600, random.integers(0, 80)).tolist()
        batches = length_sorted_batches(lengths, 1024)
        assert sorted(index for batch in batches for index in batch) == list(range(len(lengths)))
        assert all(
            len(batch) == 1 or max(lengths[i] for i in batch) * len(batch) <= 1024 for batch in batches
        )


def shared_parameters(model: str) -> dict[str, dict[str, str]]:
    text = (REPOSITORY / model / "config.pbtxt").read_text("utf-8")
    found = re.findall(r'key: "(\w+)" value \{ string_value: "([^"]*)" \}', text)
    return {name: {"string_value": value} for name, value in found}


def test_both_models_have_the_same_settings() -> None:
    read = [
        FridaSettings.read(Parameters({"name": model, "parameters": shared_parameters(model)}, {}))
        for model in ("frida", "frida_tokenizer")
    ]
    assert read[0] == read[1] == replace(SETTINGS, batch_tokens=16384)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("window", "31"),
        ("window", "x"),
        ("stride", "0"),
        ("stride", "512"),
        ("pooling", "max"),
        ("batch_tokens", "511"),
    ],
)
def test_parameters_out_of_range_are_named(name: str, value: str) -> None:
    values = {**shared_parameters("frida"), name: {"string_value": value}}
    with pytest.raises(StartError, match=name):
        FridaSettings.read(Parameters({"name": "frida", "parameters": values}, {}))
    del values[name]
    with pytest.raises(StartError, match=name):
        FridaSettings.read(Parameters({"name": "frida", "parameters": values}, {}))


def test_a_stride_beyond_the_room_for_text_is_refused(tiny_frida: Path) -> None:
    directory = open_model_directory(tiny_frida, ("T5EncoderModel",))
    with pytest.raises(StartError, match="stride"):
        replace(SETTINGS, stride=508).open_tokenizer(directory)


def test_the_environment_names_the_directory_first() -> None:
    parameters = {"model_dir": {"string_value": "/models/FRIDA"}, "other": {"string_value": ""}}
    read = Parameters({"name": "frida", "parameters": parameters}, {"DIR": "/srv"})
    assert read.directory("model_dir", "DIR") == Path("/srv")
    assert read.directory("model_dir", "UNSET") == Path("/models/FRIDA")
    with pytest.raises(StartError, match="UNSET"):
        read.directory("other", "UNSET")


def test_devices_and_data_types() -> None:
    assert pick_device("CPU", "0") == pick_device("KIND_CPU", "0") == CPU
    assert pick_dtype("auto", CPU) is torch.float32
    assert pick_dtype("bf16", CPU) is torch.bfloat16
    with pytest.raises(StartError, match="dtype"):
        pick_dtype("int8", CPU)
    if not torch.cuda.is_available():
        with pytest.raises(StartError, match="KIND_CPU"):
            pick_device("GPU", "0")


def in_python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], cwd=REPOSITORY.parents[2], capture_output=True, text=True, timeout=120
    )


def test_the_models_need_nothing_of_radref_and_the_tokenizer_no_torch() -> None:
    """NVIDIA's image has no dependencies of radref; a process that only counts need not load torch."""
    blocked = "import sys; sys.modules.update(dict.fromkeys(('radref', 'grpc', 'pydantic', 'structlog')))\n"
    ended = in_python(f"{blocked}import inference_svc.triton.frida_model")
    assert ended.returncode == 0, ended.stderr
    ended = in_python(
        f"{blocked}sys.modules['torch'] = None\nimport inference_svc.triton.frida_tokenizer_model"
    )
    assert ended.returncode == 0, ended.stderr


def test_a_model_process_can_end_its_server() -> None:
    child = "from inference_svc.triton.python_backend import end_server; end_server()"
    ended = in_python(
        f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}]); print('alive')"
    )
    assert (ended.returncode, ended.stdout) == (-15, "")
