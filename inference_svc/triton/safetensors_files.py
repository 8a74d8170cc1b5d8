"""Reads the headers of safetensors files, to notice damage before a model is built and to hash the content.

Format: https://huggingface.co/docs/safetensors/index#format - 8 bytes little-endian length of the header, the
header as JSON (name -> dtype, shape, data_offsets), then the tensors.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from inference_svc.triton.errors import StartError

# The format's own upper bound of a header.
_MAX_HEADER_BYTES = 100_000_000


@dataclass(frozen=True, slots=True)
class StoredTensor:
    """Where a tensor lies: bytes [start, end) of `file`."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    file: Path
    start: int
    end: int


def stored_tensors(file: Path) -> list[StoredTensor]:
    """The tensors of a file, in the order of its header.

    Raises:
        StartError: the file is no safetensors file or is cut off.
    """
    size = file.stat().st_size
    with file.open("rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
        if size < 8 or not 2 <= length <= min(_MAX_HEADER_BYTES, size - 8):
            raise _damaged(file)
        header = stream.read(length)
    try:
        entries = json.loads(header)
        tensors = [
            StoredTensor(
                name,
                str(entry["dtype"]),
                tuple(int(edge) for edge in entry["shape"]),
                file,
                8 + length + int(entry["data_offsets"][0]),
                8 + length + int(entry["data_offsets"][1]),
            )
            for name, entry in entries.items()
            if name != "__metadata__"
        ]
    except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        raise _damaged(file) from error
    if any(not 0 <= tensor.start <= tensor.end <= size for tensor in tensors):
        raise StartError(f"{file} is cut off: its header names more bytes than it has. Copy it again.")
    return tensors


def _damaged(file: Path) -> StartError:
    return StartError(
        f"{file} is not a safetensors file: damaged, or a Git LFS pointer instead of the weights. "
        "Copy it again."
    )
