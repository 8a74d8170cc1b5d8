"""The two waiting lines in front of an encoder, and how batches are made of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inference_svc.embedders.lanes import (
    MAX_ADDED_PADDING,
    QUESTIONS_IN_A_ROW,
    EncoderLanes,
    Lane,
    Member,
    Request,
    TokenSequence,
)
from radref.errors import Overloaded, Unavailable

QUESTION, DOCUMENT = Lane.QUESTION, Lane.DOCUMENT


class Observed:
    """Lanes and what they reported."""

    def __init__(self, question_tokens: int = 10_000, document_tokens: int = 10_000) -> None:
        self.waits: list[float] = []
        self.computes: list[float] = []
        self.lanes = EncoderLanes(
            question_tokens=question_tokens,
            document_tokens=document_tokens,
            observe_wait=self.waits.append,
            observe_compute=self.computes.append,
        )

    def add(self, lane: Lane, *lengths: int) -> Request:
        request = made(lane, *lengths)
        self.lanes.add(request)
        return request

    def batch(self, max_tokens: int = 512) -> list[Member]:
        return self.lanes.next_batch(max_tokens)


def made(lane: Lane, *lengths: int) -> Request:
    sequences = [TokenSequence(np.zeros(length, np.int64), lambda _: None) for length in lengths]
    return Request(lane, sequences, lambda _: None)


def lengths(batch: list[Member]) -> list[int]:
    return [len(member.sequence.ids) for member in batch]


def test_the_first_who_adds_must_see_to_a_worker_until_it_left() -> None:
    lanes = Observed().lanes
    assert lanes.add(made(QUESTION, 12))
    assert not lanes.add(made(DOCUMENT, 12))
    assert len(lanes.next_batch(512)) == 1
    assert not lanes.add(made(DOCUMENT, 100))
    assert len(lanes.next_batch(512)) == 1
    assert len(lanes.next_batch(512)) == 1
    assert lanes.next_batch(512) == []
    assert lanes.add(made(QUESTION, 12))


def test_questions_of_strangers_share_a_batch() -> None:
    observed = Observed()
    requests = [observed.add(QUESTION, 12) for _ in range(16)]
    batch = observed.batch()
    assert [member.request for member in batch] == requests
    assert len(observed.waits) == 16
    assert observed.batch() == []


def test_a_batch_never_mixes_the_lines() -> None:
    observed = Observed()
    document, question = observed.add(DOCUMENT, 12), observed.add(QUESTION, 12)
    assert [m.request for m in observed.batch()] == [question]
    assert [m.request for m in observed.batch()] == [document]


def test_lengths_that_differ_too_much_do_not_share_a_batch() -> None:
    observed = Observed()
    for length in (12, 200, 13, 12 + MAX_ADDED_PADDING + 1):
        observed.add(QUESTION, length)
    assert lengths(observed.batch()) == [12, 13]
    assert lengths(observed.batch()) == [200]
    assert lengths(observed.batch()) == [12 + MAX_ADDED_PADDING + 1]


def test_a_longer_one_joins_only_while_few_rows_would_be_padded() -> None:
    observed = Observed()
    observed.add(QUESTION, 12)
    observed.add(QUESTION, 12 + MAX_ADDED_PADDING)
    assert len(observed.batch()) == 2
    for _ in range(3):
        observed.add(QUESTION, 12)
    observed.add(QUESTION, 12 + MAX_ADDED_PADDING)
    assert lengths(observed.batch()) == [12, 12, 12]


def test_a_sequence_longer_than_a_batch_is_one_by_itself() -> None:
    observed = Observed()
    observed.add(DOCUMENT, 512)
    observed.add(DOCUMENT, 512)
    assert [lengths(observed.batch(256)) for _ in range(3)] == [[512], [512], []]


def test_requests_of_a_line_take_turns() -> None:
    observed = Observed()
    big = observed.add(QUESTION, *[100] * 3)
    small = observed.add(QUESTION, 100)
    assert [observed.batch(100)[0].request for _ in range(4)] == [big, small, big, big]


def test_a_large_request_does_not_fill_a_batch_alone() -> None:
    observed = Observed()
    big = observed.add(DOCUMENT, *[100] * 10)
    others = [observed.add(DOCUMENT, 100) for _ in range(2)]
    assert {member.request for member in observed.batch(400)} == {big, *others}


def test_documents_get_their_turn_under_a_flood_of_questions() -> None:
    observed = Observed()
    observed.add(QUESTION, *[100] * 20)
    observed.add(DOCUMENT, 100, 100)
    order = [observed.batch(100)[0].request.lane for _ in range(22)]
    assert [i for i, lane in enumerate(order) if lane is DOCUMENT] == [
        QUESTIONS_IN_A_ROW,
        2 * QUESTIONS_IN_A_ROW + 1,
    ]


def test_a_full_line_refuses_and_says_when_to_come_back() -> None:
    observed = Observed(question_tokens=10, document_tokens=10)
    observed.add(DOCUMENT, 30, 30)  # admitted: nothing waited before
    with pytest.raises(Overloaded) as caught:
        observed.add(DOCUMENT, 1)
    assert caught.value.reason == "OVERLOADED"
    assert caught.value.retry_after is not None
    assert 0.1 <= caught.value.retry_after <= 60
    observed.add(QUESTION, 1)  # the other line is not full
    assert [observed.batch(30)[0].request.lane for _ in range(3)] == [QUESTION, DOCUMENT, DOCUMENT]
    observed.add(DOCUMENT, 1)


def test_a_slow_encoder_asks_for_more_patience() -> None:
    observed = Observed(question_tokens=1_000)
    observed.add(QUESTION, 1_000)
    for _ in range(100):
        observed.lanes.computed(100, 1.0)
    with pytest.raises(Overloaded) as caught:
        observed.add(QUESTION, 1)
    assert caught.value.retry_after == pytest.approx(10, rel=0.01)
    assert observed.computes == [1.0] * 100


def test_what_is_dropped_frees_its_place_and_is_not_taken() -> None:
    observed = Observed(document_tokens=10)
    leaver = observed.add(DOCUMENT, 30, 30)
    observed.lanes.drop(leaver)
    stayer = observed.add(DOCUMENT, 1)
    observed.lanes.drop(leaver)
    assert [member.request for member in observed.batch()] == [stayer]


def test_the_rest_of_a_begun_request_can_be_dropped() -> None:
    observed = Observed(document_tokens=101)
    leaver = observed.add(DOCUMENT, 100, 100)
    assert len(observed.batch(100)) == 1
    observed.lanes.drop(leaver)
    assert observed.batch() == []
    observed.add(DOCUMENT, 1)


def test_a_request_waits_once() -> None:
    observed = Observed()
    observed.add(DOCUMENT, 100, 100, 100)
    while observed.batch(100):
        pass
    assert len(observed.waits) == 1
    assert observed.waits[0] >= 0


def test_closing_returns_what_waits_and_refuses_what_comes() -> None:
    observed = Observed()
    waiting = [observed.add(DOCUMENT, 5), observed.add(QUESTION, 5, 5)]
    assert set(observed.lanes.close()) == set(waiting)
    assert observed.batch() == []
    with pytest.raises(Unavailable):
        observed.add(QUESTION, 5)


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(list(Lane)), st.lists(st.integers(1, 512), min_size=1, max_size=12)),
        max_size=30,
    ),
    st.integers(1, 1_024),
)
def test_everything_is_taken_once_within_the_bounds(
    arrivals: list[tuple[Lane, list[int]]], bound: int
) -> None:
    observed = Observed(question_tokens=10**9, document_tokens=10**9)
    requests = [observed.add(lane, *sizes) for lane, sizes in arrivals]
    taken: list[tuple[int, int]] = []
    while batch := observed.batch(bound):
        assert len({member.request.lane for member in batch}) == 1
        width = max(lengths(batch))
        assert len(batch) == 1 or width * len(batch) <= bound
        # Every member but the first added at most so much padding.
        assert width * len(batch) - sum(lengths(batch)) <= MAX_ADDED_PADDING * (len(batch) - 1)
        taken += [(id(member.request), member.index) for member in batch]
    expected = [(id(request), index) for request in requests for index in range(len(request.sequences))]
    assert sorted(taken) == sorted(expected)
    assert len(observed.waits) == len(requests)
    # Nothing is counted as waiting any more, so a bound of one token admits.
    assert observed.lanes._waiting == {QUESTION: 0, DOCUMENT: 0}


@settings(deadline=None)
@given(st.lists(st.lists(st.integers(1, 60), min_size=1, max_size=5), min_size=1, max_size=12))
def test_nobody_is_overtaken_forever(sizes: list[list[int]]) -> None:
    """Whoever stands at place n has a sequence in one of the next n batches, whatever the others send."""
    observed = Observed()
    requests = [observed.add(QUESTION, *own) for own in sizes]
    begun: dict[int, int] = {}
    number = 0
    while batch := observed.batch(64):
        for member in batch:
            begun.setdefault(id(member.request), number)
        number += 1
    for place, request in enumerate(requests):
        assert begun[id(request)] <= place
