"""Answers of the models `frida` and `frida_tokenizer`, checked."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from inference_svc.embedders.embedder import EmbedderDescription, TokenizedText
from inference_svc.triton_tensors import Answer

VECTOR_OUTPUTS = ("EMBEDDING", "TOKENS", "TRUNCATED", "FINGERPRINT")
DESCRIPTION_OUTPUTS = (
    *("FINGERPRINT", "TOKENIZER", "DIMENSION", "WINDOW"),
    *("QUERY_PREFIX", "DOCUMENT_PREFIX", "DOCUMENT_OVERHEAD"),
)
# Of a norm from 1: half precision is good for 0.0005, so more means that the backend does not normalise.
NORM_TOLERANCE = 1e-3
_HEX16 = re.compile(r"[0-9a-f]{16}")


def fingerprint(answer: Answer, shape: tuple[int, ...]) -> str:
    """The one fingerprint all rows carry.

    Raises:
        Internal: there is none, or more than one.
    """
    found = set(answer.texts("FINGERPRINT", shape))
    if len(found) != 1:
        raise answer.nonsense("its rows come from different models")
    return _hex16(answer, "FINGERPRINT", found.pop())


def unit_vectors(answer: Answer, shape: tuple[int, int], dimension: int) -> NDArray[np.float32]:
    """(rows, dimension) vectors with an L2 norm of 1 to single precision.

    Args:
        shape: the first two lengths of EMBEDDING, rows = their product.
        dimension: expected length of a vector.

    Raises:
        Internal: another number or length of vectors, not finite, or a norm that is not about 1.
    """
    found = answer.floats("EMBEDDING", (*shape, None))
    if found.shape[2] != dimension:
        raise answer.nonsense(
            f"vectors of {found.shape[2]} dimensions, the model is described with {dimension}"
        )
    vectors = found.reshape(-1, dimension)
    if not np.isfinite(vectors).all():
        raise answer.nonsense("vectors that are not finite")
    norms = np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64))[:, None]
    if np.abs(norms - 1).max(initial=0) > NORM_TOLERANCE:
        raise answer.nonsense("vectors whose norm is not 1")
    unit: NDArray[np.float32] = (vectors / norms).astype(np.float32)
    return unit


def token_counts(answer: Answer, rows: int) -> list[int]:
    """Tokens of each text, >= 1 (special tokens are counted)."""
    counts = answer.integers("TOKENS", (rows, 1))
    if counts.min(initial=1) < 1:
        raise answer.nonsense("a text without tokens")
    return [int(count) for count in counts[:, 0]]


def truncated(answer: Answer, rows: int) -> list[bool]:
    """Whether the end of each text was left out."""
    return [bool(flag) for flag in answer.flags("TRUNCATED", (rows, 1))[:, 0]]


def tokenized(answer: Answer, texts: Sequence[str], *, want_offsets: bool) -> list[TokenizedText]:
    """Counts, and offsets where they were asked for.

    Raises:
        Internal: negative counts, another number of offsets, or offsets outside their text.
    """
    counts = answer.integers("COUNT", (len(texts),))
    if counts.min(initial=0) < 0:
        raise answer.nonsense("a negative number of tokens")
    if not want_offsets:
        return [TokenizedText(int(count), None) for count in counts]
    offsets = answer.integers("OFFSETS", (int(counts.sum()), 2))
    lengths = np.repeat([len(text) for text in texts], counts)
    starts, ends = offsets[:, 0], offsets[:, 1]
    if ((starts < 0) | (starts > ends) | (ends > lengths)).any():
        raise answer.nonsense("tokens outside their text")
    parts = np.split(offsets, np.cumsum(counts)[:-1])
    return [TokenizedText(len(part), part) for part in parts]


def description(answer: Answer, model_id: str) -> EmbedderDescription:
    """What `frida_tokenizer` tells of both models.

    Raises:
        Internal: a value is missing or impossible.
    """

    def number(name: str, low: int, high: int) -> int:
        value = int(answer.integers(name, (1,))[0])
        if not low <= value <= high:
            raise answer.nonsense(f"{name} is {value}")
        return value

    def text(name: str) -> str:
        return answer.texts(name, (1,))[0]

    window = number("WINDOW", 1, 2**31 - 1)
    return EmbedderDescription(
        id=model_id,
        backend="triton",
        fingerprint=fingerprint(answer, (1,)),
        dimension=number("DIMENSION", 1, 2**20),
        window=window,
        query_prefix=text("QUERY_PREFIX"),
        document_prefix=text("DOCUMENT_PREFIX"),
        document_overhead=number("DOCUMENT_OVERHEAD", 0, window - 1),
        tokenizer=_hex16(answer, "TOKENIZER", text("TOKENIZER")),
    )


def _hex16(answer: Answer, name: str, value: str) -> str:
    if _HEX16.fullmatch(value) is None:
        raise answer.nonsense(f"{name} is not 16 hexadecimal digits")
    return value
