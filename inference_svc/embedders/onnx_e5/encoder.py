"""The converted encoder in onnxruntime: token ids in, token vectors out."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from radref.errors import Internal


class E5Encoder:
    """A session on the CPU. `token_vectors` may be called from one thread at a time.

    Args:
        path: the converted `encoder.onnx`.
        threads: cores a batch is spread over; 0 = all that this process may use.
        spinning: idle threads spin between operators. Saves 2-3 ms on a short text where the cores are
            really free, costs much where the machine gives less than it promises (DEPENDENCIES.md).
        pad: id that fills short sequences up.
    """

    def __init__(self, path: Path, *, threads: int, spinning: bool, pad: int) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads or len(os.sched_getaffinity(0))
        options.inter_op_num_threads = 1
        options.enable_mem_pattern = False  # made for fixed shapes; ours differ from batch to batch
        options.add_session_config_entry("session.intra_op.allow_spinning", "1" if spinning else "0")
        self._session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        self._pad = pad

    def token_vectors(self, sequences: Sequence[NDArray[np.int64]]) -> list[NDArray[np.float32]]:
        """(tokens, hidden) float32 for each sequence, in order. Special tokens are already in.

        Raises:
            Internal: a vector is not finite.
        """
        width = max(map(len, sequences))
        ids = np.full((len(sequences), width), self._pad, np.int64)
        mask = np.zeros((len(sequences), width), np.int32)
        for row, sequence in enumerate(sequences):
            ids[row, : len(sequence)] = sequence
            mask[row, : len(sequence)] = 1
        (hidden,) = self._session.run(["last_hidden_state"], {"input_ids": ids, "attention_mask": mask})
        vectors: list[NDArray[np.float32]] = [
            hidden[row, : len(sequence)] for row, sequence in enumerate(sequences)
        ]
        if not all(np.isfinite(own).all() for own in vectors):
            raise Internal("the embedder computed a vector that is not finite")
        return vectors


def unit(vectors: NDArray[np.floating]) -> NDArray[np.float32]:
    """(n, dimension) scaled to L2 norm 1, float32.

    Raises:
        Internal: a vector has no length.
    """
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not (norms > 0).all():
        raise Internal("the embedder computed a vector without length")
    scaled: NDArray[np.float32] = (vectors / norms).astype(np.float32)
    return scaled
