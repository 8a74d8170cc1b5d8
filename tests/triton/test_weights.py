"""Model directories: what is wrong is named before anything is served."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import T5EncoderModel

from inference_svc.triton.errors import StartError
from inference_svc.triton.loading import load_model
from inference_svc.triton.weights import fingerprint, open_model_directory
from tests.triton.tiny_t5 import write_tiny_frida

CPU = torch.device("cpu")
T5 = ("T5EncoderModel",)


@pytest.fixture
def copy(tiny_frida: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(tiny_frida, tmp_path / "copy"))


@pytest.fixture(scope="module")
def sharded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_frida(tmp_path_factory.mktemp("sharded") / "model", shard_size="100KB")


def edited_weights(path: Path, edit: Callable[[dict[str, torch.Tensor]], None]) -> Path:
    tensors = load_file(path / "model.safetensors")
    edit(tensors)
    save_file(tensors, path / "model.safetensors", metadata={"format": "pt"})
    return path


def cut_off(path: Path) -> None:
    content = (path / "model.safetensors").read_bytes()
    (path / "model.safetensors").write_bytes(content[:-1])


DAMAGE: dict[str, tuple[Callable[[Path], object], str]] = {
    "gone": (shutil.rmtree, "does not exist"),
    "a file": (lambda path: (shutil.rmtree(path), path.write_text("")), "is not a directory"),
    "no config": (lambda path: (path / "config.json").unlink(), "has no config.json"),
    "config is no JSON": (lambda path: (path / "config.json").write_text("{"), "is not JSON"),
    "config is a list": (lambda path: (path / "config.json").write_text("[]"), "is not a JSON object"),
    "no architectures": (lambda path: (path / "config.json").write_text("{}"), "holds another model"),
    "no tokenizer": (lambda path: (path / "tokenizer.json").unlink(), "has no tokenizer.json"),
    "no weights": (lambda path: (path / "model.safetensors").unlink(), "has no weights"),
    "pickled weights": (
        lambda path: (path / "model.safetensors").rename(path / "pytorch_model.bin"),
        "pickled weights can run code",
    ),
    "LFS pointer": (
        lambda path: (path / "model.safetensors").write_text("version https://git-lfs.github.com/spec/v1\n"),
        "Git LFS pointer",
    ),
    "empty weights": (lambda path: (path / "model.safetensors").write_bytes(b""), "not a safetensors file"),
    "cut off": (cut_off, "is cut off"),
}


@pytest.mark.parametrize("case", DAMAGE)
def test_what_is_wrong_is_named(copy: Path, case: str) -> None:
    damage, message = DAMAGE[case]
    damage(copy)
    with pytest.raises(StartError) as caught:
        open_model_directory(copy, T5, origin="ai-forever/FRIDA")
    assert message in str(caught.value)
    assert str(copy) in str(caught.value)


def test_incomplete_shards_are_named(sharded: Path, tmp_path: Path) -> None:
    path = Path(shutil.copytree(sharded, tmp_path / "copy"))
    shards = sorted(path.glob("model-*.safetensors"))
    assert len(shards) > 1
    shards[1].rename(tmp_path / "aside")
    with pytest.raises(StartError, match=shards[1].name):
        open_model_directory(path, T5)
    shutil.copy(shards[0], shards[1])
    with pytest.raises(StartError, match="mixes files of different models"):
        open_model_directory(path, T5)
    index = path / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"a": "../elsewhere.safetensors"}}))
    with pytest.raises(StartError, match=r"elsewhere\.safetensors"):
        open_model_directory(path, T5)


def test_the_digest_is_of_the_content_not_of_the_files(tiny_frida: Path, sharded: Path, copy: Path) -> None:
    own = open_model_directory(tiny_frida, T5).content_digest()
    assert open_model_directory(sharded, T5).content_digest() == own
    assert open_model_directory(copy, T5).content_digest() == own
    (copy / "README.md").write_text("a note")
    assert open_model_directory(copy, T5).content_digest() == own
    edited_weights(copy, lambda tensors: tensors["shared.weight"][0].add_(1e-3))
    changed = open_model_directory(copy, T5).content_digest()
    assert changed != own
    with (copy / "tokenizer.json").open("a") as stream:
        stream.write("\n")
    assert open_model_directory(copy, T5).content_digest() not in (own, changed)


def test_a_fingerprint_keeps_settings_apart() -> None:
    marks = {
        fingerprint("ab", "c", "d"),
        fingerprint("a", "bc", "d"),
        fingerprint("ab", "cd"),
        fingerprint("ab", "d", "c"),
    }
    assert len(marks) == 4
    assert all(len(mark) == 16 and int(mark, 16) >= 0 for mark in marks)


def load(path: Path, dtype: torch.dtype = torch.float32) -> object:
    directory = open_model_directory(path, T5)
    return load_model(T5EncoderModel, directory, device=CPU, dtype=dtype, fp32_parts={"wo"})


def test_a_config_with_fewer_layers_than_the_weights_is_refused(copy: Path) -> None:
    config = json.loads((copy / "config.json").read_text(encoding="utf-8"))
    config["num_layers"] -= 1
    (copy / "config.json").write_text(json.dumps(config), encoding="utf-8")
    with pytest.raises(StartError, match="fewer layers"):
        load(copy)


def test_missing_tensors_are_not_filled_with_random_numbers(copy: Path) -> None:
    name = "encoder.block.0.layer.1.DenseReluDense.wo.weight"
    edited_weights(copy, lambda tensors: tensors.__delitem__(name))
    with pytest.raises(StartError, match="lacks weights"):
        load(copy)


def test_tensors_of_another_shape_are_refused(copy: Path) -> None:
    config = json.loads((copy / "config.json").read_text())
    (copy / "config.json").write_text(json.dumps({**config, "d_ff": 256}))
    with pytest.raises(StartError):
        load(copy)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_are_not_finite_are_refused(copy: Path, value: float) -> None:
    edited_weights(copy, lambda tensors: tensors["shared.weight"][5, 5].fill_(value))
    with pytest.raises(StartError, match="not finite"):
        load(copy)


def test_weights_too_large_for_fp16_are_refused(copy: Path) -> None:
    edited_weights(copy, lambda tensors: tensors["shared.weight"][5, 5].fill_(1e6))
    with pytest.raises(StartError, match="does not fit"):
        load(copy, torch.float16)
    load(copy, torch.bfloat16)


def test_fp16_keeps_the_parts_that_overflow_in_fp32(tiny_frida: Path) -> None:
    model = load(tiny_frida, torch.float16)
    types = {name: each.dtype for name, each in model.named_parameters()}
    assert {types[name] for name in types if ".wo." in name} == {torch.float32}
    assert {types[name] for name in types if ".wo." not in name} == {torch.float16}
