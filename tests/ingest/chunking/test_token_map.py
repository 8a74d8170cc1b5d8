from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest_svc.chunking.tokens import TokenMap
from radref.errors import InvalidInput
from tests.ingest.chunking.chunking_documents import offsets_of, token_map

TEXT = "The dose limit, 20 мЗв в год. Ещё"


def test_counts_all_and_none() -> None:
    tokens = token_map(TEXT)
    assert len(tokens) == len(offsets_of(TEXT))
    assert tokens.count(0, len(TEXT)) == len(tokens)
    assert tokens.count(5, 5) == 0
    assert tokens.count(7, 3) == 0
    assert TokenMap("", []).count(0, 0) == 0


def test_cut_between_words_is_exact() -> None:
    tokens = token_map(TEXT)
    for position in [i for i, character in enumerate(TEXT) if character == " "]:
        for cut in (position, position + 1):
            assert tokens.count(0, cut) == len(offsets_of(TEXT[:cut]))
            assert tokens.count(cut, len(TEXT)) == len(offsets_of(TEXT[cut:]))


def test_cut_inside_a_token_counts_its_code_points() -> None:
    tokens = TokenMap("abcdef gh", [(0, 6), (6, 9)])
    assert tokens.count(0, 4) == 1 + 4
    assert tokens.count(4, 9) == 2 + 2
    assert tokens.count(2, 5) == 1 + 3


def test_word_mark_of_its_own_belongs_to_the_next_character() -> None:
    tokens = TokenMap("a Ω", [(0, 1), (1, 2), (2, 3)])
    assert tokens.count(2, 3) == 2
    assert tokens.count(0, 1) == 1


def test_several_tokens_of_one_character() -> None:
    tokens = TokenMap("a€", [(0, 1), (1, 2), (1, 2), (1, 2)])
    assert tokens.count(1, 2) == 3
    assert tokens.advance(1, 2, 2) == 2


@pytest.mark.parametrize("offsets", [[(0, 9)], [(-1, 1)], [(2, 1)], [(2, 3), (0, 1)], [(0, 3), (1, 2)]])
def test_offsets_of_another_text_are_refused(offsets: list[tuple[int, int]]) -> None:
    with pytest.raises(InvalidInput) as caught:
        TokenMap("abc", offsets)
    assert caught.value.reason == "INVALID_SPAN"


@given(st.text("ab й.,\n", max_size=60), st.integers(0, 60), st.integers(0, 60))
def test_count_is_an_upper_bound(text: str, one: int, other: int) -> None:
    start, end = sorted((min(one, len(text)), min(other, len(text))))
    assert token_map(text).count(start, end) >= len(offsets_of(text[start:end]))


@given(st.text("ab й.,\n", min_size=1, max_size=60), st.integers(1, 9))
def test_advance_makes_progress_within_its_tokens(text: str, budget: int) -> None:
    tokens = token_map(text)
    start = 0
    while start < len(text):
        stop = tokens.advance(start, budget, len(text))
        assert start < stop <= len(text)
        assert tokens.count(start, stop) <= budget
        start = stop


@given(st.text("ab й.,\n", min_size=1, max_size=60), st.data())
def test_joined_parts_count_like_their_text(text: str, data: st.DataObject) -> None:
    blanks = [i for i, character in enumerate(text) if character.isspace()]
    cut = data.draw(st.sampled_from([0, *blanks, len(text)]))
    joined = token_map(text).joined([((cut, len(text)), 0), ((0, cut), len(text) - cut + 1)])
    assert joined.count(0, len(text) + 1) == len(offsets_of(text[cut:])) + len(offsets_of(text[:cut]))
