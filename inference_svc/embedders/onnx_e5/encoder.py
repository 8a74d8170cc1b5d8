"""The encoder in onnxruntime: token ids in, token vectors out."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from radref.errors import Internal

IDS, MASK, TYPES, OUTPUT = "input_ids", "attention_mask", "token_type_ids", "last_hidden_state"
_INTEGERS: dict[str, type[np.signedinteger]] = {"tensor(int64)": np.int64, "tensor(int32)": np.int32}


class E5Encoder:
    """A session on the CPU. `token_vectors` may be called from one thread at a time.

    Args:
        path: an ONNX file with the inputs `input_ids`, `attention_mask` and perhaps `token_type_ids`, all
            (batch, tokens) of int64 or int32; output `last_hidden_state`, (batch, tokens, hidden) of float32.
        threads: cores a batch is spread over; 0 = all that this process may use.
        spinning: idle threads spin between operators. Saves 2-3 ms on a short text where the cores are
            really free, costs much where the machine gives less than it promises (DEPENDENCIES.md).
        pad: id that fills short sequences up.

    Raises:
        Internal: the file is no such model.
    """

    def __init__(self, path: Path, *, threads: int, spinning: bool, pad: int) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads or len(os.sched_getaffinity(0))
        options.inter_op_num_threads = 1
        options.enable_mem_pattern = False  # made for fixed shapes; ours differ from batch to batch
        options.add_session_config_entry("session.intra_op.allow_spinning", "1" if spinning else "0")
        try:
            session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        except Exception as exc:  # onnxruntime's exceptions have no common base
            raise Internal(f"onnxruntime cannot load the embedder {path} ({type(exc).__name__})") from exc
        self._types = _input_types(session, path)
        self._session = session
        self._pad = pad

    def token_vectors(self, sequences: Sequence[NDArray[np.int64]]) -> list[NDArray[np.float32]]:
        """(tokens, hidden) float32 for each sequence, in order. Special tokens are already in.

        Nobody has looked at the values yet: see `finite`.
        """
        width = max(map(len, sequences))
        ids = np.full((len(sequences), width), self._pad, self._types[IDS])
        mask = np.zeros((len(sequences), width), self._types[MASK])
        for row, sequence in enumerate(sequences):
            ids[row, : len(sequence)] = sequence
            mask[row, : len(sequence)] = 1
        feed = {IDS: ids, MASK: mask}
        if TYPES in self._types:
            feed[TYPES] = np.zeros((len(sequences), width), self._types[TYPES])
        (hidden,) = self._session.run([OUTPUT], feed)
        return [hidden[row, : len(sequence)] for row, sequence in enumerate(sequences)]


def _input_types(session: onnxruntime.InferenceSession, path: Path) -> dict[str, type[np.signedinteger]]:
    inputs = {item.name: item for item in session.get_inputs()}
    outputs = {item.name: item for item in session.get_outputs()}
    unusable = f"the embedder {path} cannot be used: "
    if not {IDS, MASK} <= inputs.keys() <= {IDS, MASK, TYPES}:
        raise Internal(
            f"{unusable}its inputs are {', '.join(sorted(inputs)) or 'none'}; "
            f"needed are {IDS} and {MASK}, {TYPES} is understood"
        )
    if OUTPUT not in outputs:
        raise Internal(f"{unusable}its outputs are {', '.join(sorted(outputs))}; needed is {OUTPUT}")
    for name, item in inputs.items():
        if item.type not in _INTEGERS or len(item.shape) != 2:
            raise Internal(f"{unusable}{name} must be (batch, tokens) of int64 or int32, is {_said(item)}")
        if any(isinstance(size, int) for size in item.shape):
            raise Internal(f"{unusable}the shape of {name} is fixed; batch and tokens must be free")
    if outputs[OUTPUT].type != "tensor(float)" or len(outputs[OUTPUT].shape) != 3:
        raise Internal(
            f"{unusable}{OUTPUT} must be (batch, tokens, hidden) of float32, is {_said(outputs[OUTPUT])}"
        )
    return {name: _INTEGERS[item.type] for name, item in inputs.items()}


def _said(item: onnxruntime.NodeArg) -> str:
    return f"{item.type} with {len(item.shape)} dimensions"


def finite(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """The vectors themselves.

    Raises:
        Internal: one is not finite.
    """
    if not np.isfinite(vectors).all():
        raise Internal("the embedder computed a vector that is not finite")
    return vectors


def unit(vectors: NDArray[np.floating]) -> NDArray[np.float32]:
    """(n, dimension) scaled to L2 norm 1, float32.

    Raises:
        Internal: a vector has no length.
    """
    norms = np.sqrt((vectors * vectors).sum(axis=1, keepdims=True))
    if not (norms > 0).all():
        raise Internal("the embedder computed a vector without length")
    scaled: NDArray[np.float32] = (vectors / norms).astype(np.float32)
    return scaled
