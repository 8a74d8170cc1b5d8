"""A directory with a model as its publisher ships it, checked before anything is loaded from it.

Nothing is ever fetched: a hospital's GPU node has no way out, and a model that arrives by itself is a model
that nobody approved.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inference_svc.triton.errors import StartError
from inference_svc.triton.safetensors_files import StoredTensor, stored_tensors

_READ_BYTES = 1 << 24


@dataclass(frozen=True, slots=True)
class ModelDirectory:
    """A complete model directory.

    Attributes:
        path: absolute.
        config: content of config.json.
        weight_files: the safetensors files that are loaded, in order of name.
        tokenizer: path of tokenizer.json.
    """

    path: Path
    config: Mapping[str, Any]
    weight_files: tuple[Path, ...]
    tokenizer: Path

    def content_digest(self) -> str:
        """SHA-256 over the tensors and tokenizer.json, 64 hexadecimal digits.

        Over names, types, shapes and values of the tensors, not over the files: the same weights split into
        other shards give the same digest. Reads every byte (seconds for gigabytes).
        """
        digest = hashlib.sha256()
        tensors = [tensor for file in self.weight_files for tensor in stored_tensors(file)]
        for tensor in sorted(tensors, key=lambda tensor: (tensor.name, tensor.file)):
            digest.update(f"{tensor.name}\n{tensor.dtype}\n{tensor.shape}\n".encode())
            _add_bytes(digest, tensor)
        digest.update(self.tokenizer_digest().encode())
        return digest.hexdigest()

    def tokenizer_digest(self) -> str:
        """SHA-256 of tokenizer.json, 64 hexadecimal digits."""
        return hashlib.sha256(self.tokenizer.read_bytes()).hexdigest()


def fingerprint(content_digest: str, *settings: str) -> str:
    """16 hexadecimal digits over a model's content and the settings that change what it answers.

    Data type and device are left out: they change vectors by rounding only, and an index must not be refused
    because a node was replaced.
    """
    # JSON keeps ("a", "bc") and ("ab", "c") apart.
    return hashlib.sha256(json.dumps([content_digest, *settings]).encode()).hexdigest()[:16]


def open_model_directory(
    path: Path, architectures: Collection[str], *, origin: str = "the model's publisher"
) -> ModelDirectory:
    """Checks that a directory holds a whole model of one of the architectures.

    Args:
        path: holds config.json, tokenizer.json, and model.safetensors or shards with their index.
        architectures: accepted entries of `architectures` in config.json, e.g. {"T5EncoderModel"}.
        origin: where the files come from, for the messages, e.g. "ai-forever/FRIDA".

    Raises:
        StartError: what is missing or wrong.
    """
    path = path.absolute()
    supply = (
        f"Put the files of {origin} there (config.json, tokenizer.json, *.safetensors); "
        "nothing is downloaded."
    )
    if not path.is_dir():
        what = "is not a directory" if path.exists() else "does not exist"
        raise StartError(f"the model directory {path} {what}. {supply}")
    config = _read_json(path / "config.json", supply)
    found = config.get("architectures")
    names = [str(name) for name in found] if isinstance(found, list) else []
    if not set(names) & set(architectures):
        raise StartError(
            f"{path} holds another model: its config.json names architectures {names or 'none'}, "
            f"expected {' or '.join(sorted(architectures))}. {supply}"
        )
    tokenizer = path / "tokenizer.json"
    if not tokenizer.is_file():
        raise StartError(
            f"{path} has no tokenizer.json (the fast tokenizer). {supply} Where the publisher ships none, "
            "save_pretrained() of transformers' AutoTokenizer writes it."
        )
    return ModelDirectory(path, config, _weight_files(path, supply), tokenizer)


def _weight_files(path: Path, supply: str) -> tuple[Path, ...]:
    # The order in which transformers looks for them.
    whole = path / "model.safetensors"
    if whole.is_file():
        stored_tensors(whole)
        return (whole,)
    index = path / "model.safetensors.index.json"
    if not index.is_file():
        others = sorted(file.name for file in path.glob("pytorch_model*.bin"))
        hint = f" {others[0]} is not read: pickled weights can run code." if others else ""
        raise StartError(
            f"{path} has no weights: neither model.safetensors nor model.safetensors.index.json."
            f"{hint} {supply}"
        )
    weight_map = _read_json(index, supply).get("weight_map")
    if not isinstance(weight_map, dict) or not weight_map:
        raise StartError(f"{index} names no weights. {supply}")
    files = tuple(path / str(name) for name in sorted(set(map(str, weight_map.values()))))
    missing = [file.name for file in files if file.parent != path or not file.is_file()]
    if missing:
        raise StartError(
            f"{path} is incomplete, these weight files are missing: {', '.join(missing)}. {supply}"
        )
    held = {(tensor.name, file.name) for file in files for tensor in stored_tensors(file)}
    absent = [name for name, file in weight_map.items() if (str(name), str(file)) not in held]
    if absent:
        raise StartError(
            f"{path} mixes files of different models: {len(absent)} tensors of its index are in no file. "
            f"{supply}"
        )
    return files


def _read_json(file: Path, supply: str) -> Mapping[str, Any]:
    if not file.is_file():
        raise StartError(f"{file.parent} has no {file.name}. {supply}")
    try:
        content = json.loads(file.read_text("utf-8"))
    except ValueError as error:
        raise StartError(f"{file} is not JSON. {supply}") from error
    if not isinstance(content, dict):
        raise StartError(f"{file} is not a JSON object. {supply}")
    return content


def _add_bytes(digest: Any, tensor: StoredTensor) -> None:
    with tensor.file.open("rb") as stream:
        stream.seek(tensor.start)
        left = tensor.end - tensor.start
        while left:
            block = stream.read(min(left, _READ_BYTES))
            if not block:
                raise StartError(f"{tensor.file} became shorter while it was read. Copy it again.")
            digest.update(block)
            left -= len(block)
