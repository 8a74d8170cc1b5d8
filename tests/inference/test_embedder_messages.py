"""Vectors to messages."""

from __future__ import annotations

import numpy as np
import pytest

from inference_svc.embedders.embedder import EmbeddedSpans, EmbeddedTexts
from inference_svc.messages import embedded_spans, embedded_texts
from radref.api.inference.v1 import inference_pb2 as pb


# Lengths around the places where the length of the packed field takes one more byte.
@pytest.mark.parametrize("dimension", [1, 31, 32, 384, 1536, 4095, 4096])
def test_every_component_arrives_as_it_was(dimension: int) -> None:
    vectors = np.random.default_rng(dimension).standard_normal((3, dimension)).astype(np.float32)
    vectors[0, 0] = np.float32(1e-40)  # subnormal
    response = pb.EmbedResponse.FromString(
        embedded_texts(EmbeddedTexts(vectors, [3, 4, 5], [False, True, False], "f")).SerializeToString()
    )
    assert [list(text.embeddings[0].values) for text in response.texts] == vectors.tolist()
    assert [text.token_count for text in response.texts] == [3, 4, 5]
    assert [text.truncated for text in response.texts] == [False, True, False]
    (spanned,) = embedded_spans([EmbeddedSpans(vectors[::-1], 9, "f")]).texts
    assert [list(embedding.values) for embedding in spanned.embeddings] == vectors[::-1].tolist()
    assert spanned.embeddings[0] == pb.Embedding(values=vectors[2].tolist())
