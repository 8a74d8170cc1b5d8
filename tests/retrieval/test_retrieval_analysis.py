from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval_svc.analysis import ScriptStemmer, load_stopwords
from retrieval_svc.bm25 import Bm25Encoder

ENCODER = Bm25Encoder(k=1.2, b=0.75, avg_len=50)


def terms(text: str) -> set[int]:
    return set(ENCODER.query(text).indices)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("6.5 mGy", "6,5 mGy"),
        ("6.5mGy", "6.5 mGy"),
        ("1,000 mSv", "1000 mSv"),
        ("12\u00a0500 Бк", "12500 Бк"),
        ("µSv/h", "μSv/h"),
        ("ежегодный учёт", "ежегодный учет"),
        ("до\u0301за облучения", "дозы облучения"),
        ("radia\u00adtion", "radiation"),
        ("\u0438\u0306од", "йод"),
        ("мкЗв/ч", "МКЗВ / Ч"),
        ("screening mammograms", "screen mammogram"),
        ("рентгеновского излучения", "рентгеновское излучение"),
        ("м²", "м2"),
    ],
)
def test_same_terms(one: str, other: str) -> None:
    assert terms(one) == terms(other) != set()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("20.1201", "20.1202"),
        ("6.5", "5.6"),
        ("0,125", "0125"),
        ("dose must not exceed", "dose must exceed"),
        ("892.1990", "1990"),
        ("мЗв", "мГр"),
    ],
)
def test_different_terms(one: str, other: str) -> None:
    assert terms(one) != terms(other)


def test_number_is_one_token() -> None:
    assert len(terms("20.1201")) == len(terms("6,5")) == len(terms("1.2.3.4")) == 1
    assert len(terms("1,2,3")) == 3


def test_numbers_with_digits_are_not_stemmed() -> None:
    stemmer = ScriptStemmer()
    assert stemmer.stem_word("99ms") == "99ms"
    assert stemmer.stem_word("doses") == "dose"
    assert stemmer.stem_word("дозами") == "доз"


def test_function_words_only() -> None:
    assert ENCODER.query("what is the of and").indices == ()
    assert ENCODER.query("что это такое и как").indices == ()
    assert {"not", "no", "без", "не", "under", "more"}.isdisjoint(load_stopwords())


@given(st.text(max_size=300))
def test_any_text_encodes(text: str) -> None:
    (vector,) = ENCODER.documents([text])
    assert len(vector.indices) == len(set(vector.indices)) == len(vector.values)
    assert all(value > 0 for value in vector.values)
    assert set(ENCODER.query(text).indices) == set(vector.indices)


def test_weights_follow_the_formula() -> None:
    (vector,) = ENCODER.documents(["dose dose shield"])
    # f = 2, |d| = 3, k = 1.2, b = 0.75, avg_len = 50
    expected = 2 * 2.2 / (2 + 1.2 * (1 - 0.75 + 0.75 * 3 / 50))
    assert max(vector.values) == pytest.approx(expected, rel=1e-6)


def test_fingerprint_depends_on_parameters() -> None:
    assert ENCODER.fingerprint == Bm25Encoder(k=1.2, b=0.75, avg_len=50).fingerprint
    assert ENCODER.fingerprint != Bm25Encoder(k=1.2, b=0.75, avg_len=51).fingerprint
