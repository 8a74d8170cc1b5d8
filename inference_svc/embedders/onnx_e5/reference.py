"""The encoder once more in plain numpy: slow, short, and independent of onnxruntime.

A conversion is checked against it, so that an operator that computes otherwise on some processor or in
some release of onnxruntime is found at installation and not in the search results.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from inference_svc.embedders.onnx_e5.weights import E5Weights

_erf = np.vectorize(math.erf, otypes=[np.float32])


def reference_token_vectors(weights: E5Weights, ids: Sequence[int]) -> NDArray[np.float32]:
    """(tokens, hidden) output of the last layer for one sequence, special tokens included in `ids`."""
    shape = weights.shape
    words = weights.quantized("emb.word", shape.hidden)
    rows = np.asarray(ids)
    used = type(words)(words.nibbles[rows], words.scales[rows]).dequantized()
    positions = weights.floats("emb.pos").reshape(-1, shape.hidden)[: len(rows)]
    hidden = _norm(used + positions + weights.floats("emb.type")[: shape.hidden], weights, "emb.ln")
    for layer in range(shape.layers):
        hidden = _layer(weights, f"l{layer}.", hidden)
    return hidden


def _layer(weights: E5Weights, prefix: str, hidden: NDArray[np.float32]) -> NDArray[np.float32]:
    shape = weights.shape

    def linear(name: str, values: NDArray[np.float32]) -> NDArray[np.float32]:
        matrix = weights.quantized(f"{prefix}{name}.w", values.shape[1]).dequantized()
        result: NDArray[np.float32] = values @ matrix.T + weights.floats(f"{prefix}{name}.b")
        return result

    def heads(name: str) -> NDArray[np.float32]:
        return linear(name, hidden).reshape(len(hidden), shape.heads, -1).swapaxes(0, 1)

    query, key, value = heads("q"), heads("k"), heads("v")
    scores = query @ key.swapaxes(1, 2) / math.sqrt(query.shape[-1])
    shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
    shares /= shares.sum(axis=-1, keepdims=True)
    context = (shares @ value).swapaxes(0, 1).reshape(hidden.shape)
    hidden = _norm(hidden + linear("ao", context), weights, f"{prefix}aln")
    inner = linear("fi", hidden)
    inner = 0.5 * inner * (1.0 + _erf(inner / math.sqrt(2.0)))
    return _norm(hidden + linear("fo", inner), weights, f"{prefix}oln")


def _norm(values: NDArray[np.float32], weights: E5Weights, name: str) -> NDArray[np.float32]:
    centred = values - values.mean(axis=-1, keepdims=True)
    deviation = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + weights.shape.epsilon)
    normed: NDArray[np.float32] = centred / deviation * weights.floats(f"{name}.w") + weights.floats(
        f"{name}.b"
    )
    return normed
