"""Vectors to messages."""

from __future__ import annotations

import numpy as np
import pytest

from inference_svc.embedders.embedder import EmbeddedSpans, EmbeddedTexts, LateChunked
from inference_svc.messages import embedded_spans, embedded_texts, reranked
from inference_svc.rerankers.reranker import RerankedDocuments
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
    assert response.compute_milliseconds == 0
    assert [text.truncated for text in response.texts] == [False, True, False]
    (spanned,) = embedded_spans(LateChunked([EmbeddedSpans(vectors[::-1], 9, "f")])).texts
    assert [list(embedding.values) for embedding in spanned.embeddings] == vectors[::-1].tolist()
    assert spanned.embeddings[0] == pb.Embedding(values=vectors[2].tolist())


def test_seconds_become_milliseconds() -> None:
    vectors = np.ones((1, 2), np.float32)
    assert embedded_texts(EmbeddedTexts(vectors, [3], [False], "f", 0.5)).compute_milliseconds == 500
    late = LateChunked([EmbeddedSpans(vectors, 3, "f")], 0.25)
    assert embedded_spans(late).compute_milliseconds == 250
    assert reranked(RerankedDocuments([0.5], [False], "f", 0.125)).compute_milliseconds == 125
