"""Tensors of the models `frida` and `frida_tokenizer` to plain values and back; shapes as in config.pbtxt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inference_svc.triton.embed_calls import EmbedAnswer, EmbedCall
from inference_svc.triton.errors import RequestError

Tensors = Mapping[str, NDArray[Any]]
QUERY, DOCUMENT = b"query", b"document"


def embed_call(tensors: Tensors, max_characters: int) -> EmbedCall:
    """The request of `frida`.

    Args:
        tensors: TEXT and KIND, object arrays of bytes (n, 1); SPANS (1, 2k) int32 or absent.
        max_characters: of each text.

    Raises:
        RequestError: EMPTY_TEXT, TEXT_TOO_LONG, INVALID_FIELD, INVALID_SPAN.
    """
    texts = decoded(tensors["TEXT"], max_characters)
    if not all(text.strip() for text in texts):
        raise RequestError("EMPTY_TEXT", "a text is empty or only white space")
    kinds = tensors["KIND"].reshape(-1).tolist()
    if len(kinds) != len(texts) or not set(kinds) <= {QUERY, DOCUMENT}:
        raise RequestError("INVALID_FIELD", 'KIND is "query" or "document", one a text')
    queries = [kind == QUERY for kind in kinds]
    if "SPANS" not in tensors:
        return EmbedCall(texts, queries)
    if len(texts) != 1 or queries[0]:
        raise RequestError("INVALID_FIELD", 'SPANS goes with one text of KIND "document"')
    edges = tensors["SPANS"].reshape(-1)
    if len(edges) % 2:
        raise RequestError("INVALID_SPAN", "SPANS holds an odd number of values, two a span are expected")
    return EmbedCall(texts, queries, edges.reshape(-1, 2).astype(np.int64))


def embed_outputs(answer: EmbedAnswer, fingerprint: str) -> dict[str, NDArray[Any]]:
    """EMBEDDING, TOKENS, TRUNCATED, FINGERPRINT."""
    count = len(answer.tokens)
    return {
        "EMBEDDING": np.ascontiguousarray(answer.vectors, np.float32),
        "TOKENS": np.array(answer.tokens, np.int32).reshape(count, 1),
        "TRUNCATED": np.array(answer.truncated, np.bool_).reshape(count, 1),
        "FINGERPRINT": strings([fingerprint] * count).reshape(count, 1),
    }


def decoded(texts: NDArray[Any], max_characters: int) -> list[str]:
    """Texts of an object array of bytes.

    Raises:
        RequestError: INVALID_FIELD for bytes that are not UTF-8, TEXT_TOO_LONG.
    """
    found = []
    for index, raw in enumerate(texts.reshape(-1).tolist()):
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError:
            # Not chained: the library's error quotes the text.
            raise RequestError("INVALID_FIELD", f"text {index} is not UTF-8") from None
        if len(text) > max_characters:
            raise RequestError(
                "TEXT_TOO_LONG",
                f"text {index} has {len(text)} characters, at most {max_characters} are accepted",
            )
        found.append(text)
    return found


def strings(values: Sequence[str]) -> NDArray[Any]:
    """(n,) object array of UTF-8 bytes, what the python backend sends as BYTES."""
    return np.array([value.encode() for value in values], np.object_)
