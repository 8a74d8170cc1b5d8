"""Windows and span sums."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inference_svc.embedders.onnx_e5.spans import SpanSums, late_chunk_stride, token_ranges
from inference_svc.windows import windows
from radref.errors import InvalidInput


@given(st.integers(1, 5000), st.integers(1, 400), st.integers(1, 200))
def test_windows_cover_and_owned_ranges_partition(tokens: int, stride: int, more: int) -> None:
    capacity = stride + more
    found = windows(tokens, capacity, stride)
    assert found[0].own_start == 0
    assert found[-1].own_end == found[-1].end == tokens
    for window in found:
        assert 0 < window.end - window.start <= capacity
        assert window.start <= window.own_start < window.own_end <= window.end
    for before, after in pairwise(found):
        assert after.own_start == before.own_end
        assert after.start == before.start + stride


def test_a_token_is_taken_from_where_it_stands_further_from_a_cut() -> None:
    first, second = windows(700, 508, late_chunk_stride(512))
    assert (first.start, first.end, second.start, second.end) == (0, 508, 256, 700)
    assert first.own_end == second.own_start == (256 + 508) // 2


OFFSETS = np.array([[0, 3], [4, 7], [7, 8], [9, 12]])


@pytest.mark.parametrize(
    ("span", "expected"),
    [((0, 12), (0, 4)), ((0, 3), (0, 1)), ((3, 5), (1, 2)), ((6, 8), (1, 3)), ((2, 10), (0, 4))],
)
def test_a_token_belongs_to_every_span_it_shares_a_character_with(
    span: tuple[int, int], expected: tuple[int, int]
) -> None:
    assert tuple(token_ranges(OFFSETS, [span], 0)[0]) == expected


def test_a_span_between_tokens_is_refused_with_its_place() -> None:
    with pytest.raises(InvalidInput) as caught:
        token_ranges(OFFSETS, [(0, 3), (3, 4)], 5)
    assert (caught.value.reason, caught.value.field) == ("INVALID_SPAN", "spans.texts[5].spans[1]")


@settings(deadline=None)
@given(st.data())
def test_sums_fed_in_pieces_are_the_means(data: st.DataObject) -> None:
    tokens = data.draw(st.integers(1, 60))
    vectors = np.random.default_rng(tokens).standard_normal((tokens, 5)).astype(np.float32)
    edges = st.integers(0, tokens)
    spans = data.draw(st.lists(st.tuples(edges, edges).filter(lambda s: s[0] < s[1]), min_size=1))
    sums = SpanSums(np.array(spans), 5)
    cuts = sorted({0, tokens, *data.draw(st.lists(edges))})
    for start, end in pairwise(cuts):
        sums.add(start, vectors[start:end])
    expected = np.stack([vectors[a:b].mean(axis=0, dtype=np.float64) for a, b in spans])
    np.testing.assert_allclose(sums.means(), expected, atol=1e-9)
