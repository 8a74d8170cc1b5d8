"""The converted model on disk."""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
from pathlib import Path

import pytest

from inference_svc.embedders.onnx_e5.cache import converted_model
from inference_svc.embedders.onnx_e5.manifest import ENCODER, MANIFEST, TOKENIZER
from inference_svc.embedders.onnx_e5.model import load_converted
from radref.errors import Internal, Unavailable
from tests.inference.tiny_weights import write_tiny_weights


def made_at(path: Path) -> int:
    return path.stat().st_ino


def test_converted_once_and_found_again(tmp_path: Path, tiny_weights: Path) -> None:
    first = converted_model(tmp_path, tiny_weights)
    inode = made_at(first.encoder)
    second = converted_model(tmp_path, tiny_weights)
    assert second == first
    assert made_at(second.encoder) == inode
    assert (first.manifest.dimension, first.manifest.window) == (64, 512)


def test_nothing_is_left_behind(tmp_path: Path, tiny_weights: Path) -> None:
    model = converted_model(tmp_path, tiny_weights)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        model.encoder.parent.name,
        model.encoder.parent.name + ".lock",
    ]
    assert sorted(path.name for path in model.encoder.parent.iterdir()) == sorted(
        (ENCODER, MANIFEST, TOKENIZER)
    )


@pytest.mark.parametrize("name", [ENCODER, TOKENIZER, MANIFEST])
@pytest.mark.parametrize("how", ["flip", "cut", "remove", "empty"])
def test_a_damaged_cache_is_made_anew(tmp_path: Path, tiny_weights: Path, name: str, how: str) -> None:
    model = converted_model(tmp_path, tiny_weights)
    intact = {path.name: path.read_bytes() for path in model.encoder.parent.iterdir()}
    victim = model.encoder.parent / name
    data = bytearray(victim.read_bytes())
    if how == "flip":
        data[len(data) // 2] ^= 1
        victim.write_bytes(data)
    elif how == "remove":
        victim.unlink()
    else:
        victim.write_bytes(data[: len(data) // 2 if how == "cut" else 0])
    again = converted_model(tmp_path, tiny_weights)
    assert again.manifest == model.manifest
    assert {path.name: path.read_bytes() for path in again.encoder.parent.iterdir()} == intact
    assert len(list(tmp_path.iterdir())) == 2


def test_a_manifest_that_was_edited_is_not_believed(tmp_path: Path, tiny_weights: Path) -> None:
    model = converted_model(tmp_path, tiny_weights)
    path = model.encoder.parent / MANIFEST
    body = json.loads(path.read_text())
    path.write_text(json.dumps({**body, "bos": 17}))
    assert converted_model(tmp_path, tiny_weights).manifest.bos == 0


def test_what_a_dead_process_left_is_removed(tmp_path: Path, tiny_weights: Path) -> None:
    model = converted_model(tmp_path, tiny_weights)
    directory = model.encoder.parent
    shutil.rmtree(directory)
    abandoned = tmp_path / f".{directory.name}.making-dead"
    abandoned.mkdir()
    (abandoned / ENCODER).write_bytes(b"half")
    converted_model(tmp_path, tiny_weights)
    assert not abandoned.exists()


def test_other_weights_get_a_directory_of_their_own(tmp_path: Path, tiny_weights: Path) -> None:
    other = write_tiny_weights(tmp_path / "other.bin", seed=1)
    first = converted_model(tmp_path / "cache", tiny_weights)
    second = converted_model(tmp_path / "cache", other)
    assert first.encoder.parent != second.encoder.parent
    loaded = [
        load_converted(tmp_path / "cache", weights, threads=1, spinning=False)
        for weights in (tiny_weights, other)
    ]
    assert loaded[0].fingerprint != loaded[1].fingerprint
    assert loaded[0].tokenizer_fingerprint != loaded[1].tokenizer_fingerprint


def test_a_read_only_cache_serves_when_it_is_complete(tmp_path: Path, tiny_weights: Path) -> None:
    model = converted_model(tmp_path, tiny_weights)
    lock = tmp_path / (model.encoder.parent.name + ".lock")
    lock.unlink()
    assert converted_model(tmp_path, tiny_weights) == model
    assert not lock.exists()  # nothing was written


def test_an_unusable_directory_is_named(tmp_path: Path, tiny_weights: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a directory")
    with pytest.raises(Unavailable, match=r"cache directory .*file"):
        converted_model(blocked / "cache", tiny_weights)


def test_missing_weights_are_named(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="cannot be read"):
        converted_model(tmp_path, tmp_path / "none.bin")


def test_weights_of_another_format_leave_nothing_behind(tmp_path: Path) -> None:
    weights = tmp_path / "weights.bin"
    weights.write_bytes(b"E5S1" + b"\xff" * 500)
    with pytest.raises(Internal, match="format"):
        converted_model(tmp_path / "cache", weights)
    assert [path.suffix for path in (tmp_path / "cache").iterdir()] == [".lock"]


def _convert(cache: Path, weights: Path, barrier: object, results: object) -> None:
    barrier.wait()  # type: ignore[attr-defined]
    model = converted_model(cache, weights)
    results.put((os.getpid(), made_at(model.encoder)))  # type: ignore[attr-defined]


def test_processes_that_start_together_share_one_conversion(tmp_path: Path, tiny_weights: Path) -> None:
    context = multiprocessing.get_context("spawn")
    barrier, results = context.Barrier(3), context.Queue()
    processes = [
        context.Process(target=_convert, args=(tmp_path / "cache", tiny_weights, barrier, results))
        for _ in range(3)
    ]
    for process in processes:
        process.start()
    found = [results.get(timeout=60) for _ in processes]
    for process in processes:
        process.join(timeout=60)
    assert len({pid for pid, _ in found}) == 3
    assert len({inode for _, inode in found}) == 1
    assert all(process.exitcode == 0 for process in processes)
